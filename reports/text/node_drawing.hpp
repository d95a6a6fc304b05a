// One node drawn as a tree: CPUs, the devices below them, and the GPUs that NVLink or xGMI joins.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// Draws the first of `hosts` equal nodes of an NVLink domain.
std::string draw_node(const NodeGraph& graph, const TerminalStyle& style,
                      GpuVendor vendor = GpuVendor::nvidia, int hosts = 1);

/// "12.5 GB/s"
std::string rate_text(Bandwidth rate);

}  // namespace ddpsim
