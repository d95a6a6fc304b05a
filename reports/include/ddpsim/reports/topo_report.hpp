// A cluster as a page: summary, matrix, tree, channels, bottleneck.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

struct TopoReport {
  Topology topology;
  /// Absent for one rank, and where there are too many to lay out.
  std::optional<Bottleneck> bottleneck;
};

std::string topo_text(const TopoReport& report, const TerminalStyle& style);

/// ddpsim.topo/1
std::string topo_json(const TopoReport& report);

}  // namespace ddpsim
