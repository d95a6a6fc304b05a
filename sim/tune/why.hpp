// What another bucketing changes in the step, in a person's words.
#pragma once

#include <string>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// A clause without a full stop: the effect that most of the difference of both steps comes from.
/// Precondition: both with buckets of their own (with_buckets).
std::string why_faster(const Job& before, const Job& after);

}  // namespace ddpsim
