// What a cluster of another size makes of a workload recorded on several ranks.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/cluster.hpp"
#include "ddpsim/sim/workload.hpp"

namespace ddpsim {

std::vector<std::string> rank_warnings(const Workload& workload, const Cluster& cluster);

}  // namespace ddpsim
