// The buckets of a job's step.
#pragma once

#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/bucket.hpp"

namespace ddpsim {

/// Buckets of the steady step, in launch order: those under study, otherwise the reducer's own.
std::vector<Bucket> buckets_of(const Job& job);

/// Buckets of an iteration, in launch order. Iterations are counted from 1; 0 is the steady step.
std::vector<Bucket> buckets_for(const Job& job, int iteration);

}  // namespace ddpsim
