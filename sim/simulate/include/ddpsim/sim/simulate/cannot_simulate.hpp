// Whether a job can be simulated.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Sums of a step must stay far inside 63 bits of picoseconds (106 days).
inline constexpr double kLongestStepSeconds = 1e6;

/// Says why the job cannot be simulated (unknown shapes, no timing, …), and which option would
/// help. Absent if it can.
std::optional<std::string> cannot_simulate(const Job& job);

}  // namespace ddpsim
