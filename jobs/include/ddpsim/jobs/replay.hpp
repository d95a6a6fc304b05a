// Replays the measured step before anything else is predicted.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/jobs/build_job.hpp"

namespace ddpsim {

/// Returns `steady` with its compute adjusted to the measured step, or unchanged if none was given.
/// Trust then holds the replay, and a warning if the measurement cannot be this job's. Throws
/// InputError if no step of this recording could have the measured time.
Job replay_current(BuiltJob& built, const Job& steady);

/// Removes the profiler's share of the recorded waits from the job if its measured step reveals it.
/// Returns a note that says so.
std::optional<std::string> without_recorded_waits(BuiltJob& built);

}  // namespace ddpsim
