// What a scheme other than DDP does that is not simulated: another source of error of its step.
#pragma once

#include <optional>
#include <vector>

#include "uncertainty.hpp"

namespace ddpsim {

/// The predicted step, shorter and longer by what the job's scheme may do that is not simulated.
/// The difference counts as unexplained. Absent for DDP.
std::optional<Bounds> scheme_bounds(const Job& job, const StepTimes& predicted);

/// The bounds of all sources of error of a step that was not measured: those of its scenarios, and
/// its scheme's.
std::vector<Bounds> bounds_of_prediction(const Job& job, const StepTimes& predicted,
                                         int threads = 1);

}  // namespace ddpsim
