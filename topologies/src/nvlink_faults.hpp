// GPUs that lack the NVLinks their peers have.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// One sentence, without a full stop, for each kind of fault that the wiring shows; none where GPUs are alike.
std::vector<std::string> nvlink_faults(const NodeGraph& graph, GpuVendor vendor);

}  // namespace ddpsim
