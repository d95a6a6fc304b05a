// One node as a drawn tree: CPUs, what hangs on them, and who NVLink, or xGMI, joins.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// The first of its `hosts`, which are alike.
std::string draw_node(const NodeGraph& graph, const TerminalStyle& style,
                      GpuVendor vendor = GpuVendor::nvidia, int hosts = 1);

/// "12.5 GB/s"
std::string rate_text(Bandwidth rate);

}  // namespace ddpsim
