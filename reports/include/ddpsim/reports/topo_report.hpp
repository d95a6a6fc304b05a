// A cluster as text and JSON: summary, matrix, tree, channels and bottleneck.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

struct TopoReport {
  Topology topology;
  /// Absent for one rank, and if there are too many ranks to lay out link by link.
  std::optional<Bottleneck> bottleneck;
};

std::string topo_text(const TopoReport& report, const TerminalStyle& style);

/// A document of ddpsim.topo/1.
std::string topo_json(const TopoReport& report);

}  // namespace ddpsim
