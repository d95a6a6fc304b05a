// Iteration times of a training run after its buckets are rebuilt.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// Statistics of the iterations from number `first` on. Absent if there are none.
std::optional<IterationStatistics> statistics_of(const std::vector<StepResult>& iterations,
                                                 int first);

}  // namespace ddpsim
