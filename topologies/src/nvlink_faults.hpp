// Finds GPUs that lack NVLinks which their peers have.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// One sentence, without a full stop, for each kind of fault in the wiring; empty if all GPUs are
/// the same.
std::vector<std::string> nvlink_faults(const NodeGraph& graph, GpuVendor vendor);

}  // namespace ddpsim
