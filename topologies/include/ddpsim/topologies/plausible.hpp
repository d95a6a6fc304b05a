// Figures of a cluster that are hardly meant: a slip of unit changes them by a factor of 8 or 1000.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

/// What the cluster's files leave open, and one sentence, without a full stop, for each figure that no machine
/// comes near, with what may have been meant: none of these for what a measurement stands behind.
std::vector<std::string> implausible_figures(const Cluster& cluster);

}  // namespace ddpsim
