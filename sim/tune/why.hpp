// What another bucketing changes in the step, in a person's words.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/sim/job.hpp"

namespace ddpsim {

/// A clause without a full stop: the effect that most of the difference of both steps comes from.
std::string why_faster(const Job& job, const std::vector<Bucket>& before,
                       const std::vector<Bucket>& after);

}  // namespace ddpsim
