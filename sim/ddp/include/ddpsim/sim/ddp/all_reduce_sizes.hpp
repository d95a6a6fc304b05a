// What the all-reduces of a job carry.
#pragma once

#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// What the all-reduces of the steady step carry, bucket by bucket in launch order; then what local SGD averages.
std::vector<Bytes> all_reduce_sizes(const Job& job);

}  // namespace ddpsim
