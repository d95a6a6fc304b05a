// Iteration times of a training run, once its buckets are rebuilt.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// Over the iterations from number `first` on; absent when there are none.
std::optional<IterationStatistics> statistics_of(const std::vector<StepResult>& iterations,
                                                 int first);

}  // namespace ddpsim
