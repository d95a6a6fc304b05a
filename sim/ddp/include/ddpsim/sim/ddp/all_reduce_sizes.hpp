// Sizes of the all-reduces of a job.
#pragma once

#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Sizes of the all-reduces in the steady step: the buckets in launch order, then the one in which
/// local SGD averages parameters.
std::vector<Bytes> all_reduce_sizes(const Job& job);

}  // namespace ddpsim
