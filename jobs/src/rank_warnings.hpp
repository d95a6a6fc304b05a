// Warnings for a workload that was recorded on several ranks, if the cluster has another number of
// them.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

std::vector<std::string> rank_warnings(const Workload& workload, const Cluster& cluster);

}  // namespace ddpsim
