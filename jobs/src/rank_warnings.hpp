// What a cluster of another size makes of a workload recorded on several ranks.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

std::vector<std::string> rank_warnings(const Workload& workload, const Cluster& cluster);

}  // namespace ddpsim
