// What a scheme other than DDP does that is not simulated: another source of error of its step.
#pragma once

#include <optional>

#include "uncertainty.hpp"

namespace ddpsim {

/// The predicted step, shorter and longer by what the job's scheme may do that is not simulated.
/// The difference counts as unexplained. Absent for DDP.
std::optional<Bounds> scheme_bounds(const Job& job, const StepTimes& predicted);

}  // namespace ddpsim
