// The all-reduces of a recorded training as a log to calibrate with.
#pragma once

#include <optional>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Joined ranks give every size its transfers, one a step, the wait taken out; one rank the shortest of each size, an
/// upper bound. Absent where no all-reduce of several ranks was recorded. `shape`: nodes and GPUs, which no
/// recording says.
std::optional<MeasuredLog> recorded_log(const Workload& workload, JobShape shape);

}  // namespace ddpsim
