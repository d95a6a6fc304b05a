// The measured step, replayed before anything else is predicted.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/jobs/build_job.hpp"

namespace ddpsim {

/// Returns `steady` with its compute adjusted to the measured step; unchanged where none was given.
/// Trust holds the replay, and a warning where the measurement cannot be this job's. Throws InputError where it can be no step of
/// this recording's.
Job replay_current(BuiltJob& built, const Job& steady);

/// Takes the profiler's share of the recorded waits out of the job, where its measured step tells it, and says so.
std::optional<std::string> without_recorded_waits(BuiltJob& built);

}  // namespace ddpsim
