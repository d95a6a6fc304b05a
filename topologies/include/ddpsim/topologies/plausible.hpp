// Values of a cluster that are probably mistakes. A wrong unit changes a value by a factor of 8 or
// 1000.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

/// What the cluster's files leave open, and a short text for each value that no real machine comes
/// near. The text has no final full stop and suggests what may have been meant. Values that were
/// measured are not judged.
std::vector<std::string> implausible_figures(const Cluster& cluster);

}  // namespace ddpsim
