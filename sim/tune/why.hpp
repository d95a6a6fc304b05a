// Explains in plain words what another bucketing changes in the step.
#pragma once

#include <string>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// The effect behind most of the difference between the two steps, as a clause without a full stop.
/// Precondition: both jobs have their own buckets (with_buckets).
std::string why_faster(const Job& before, const Job& after);

}  // namespace ddpsim
