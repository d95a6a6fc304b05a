// Turns the all-reduces of a recorded training into a log for calibration.
#pragma once

#include <optional>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Joined ranks give every size its transfers, one per step, without the wait. A single rank gives
/// the shortest time of each size, an upper bound. Absent if no all-reduce of several ranks was
/// recorded. `shape` gives nodes and GPUs, which no recording states.
std::optional<MeasuredLog> recorded_log(const Workload& workload, JobShape shape);

}  // namespace ddpsim
