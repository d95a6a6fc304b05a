// A step was measured, and another was predicted for the very same job: what would explain it.
//
// Nothing says where the time went that the replay misses, so it is put down to each of the two
// ends:
//
//   all compute          compute takes x times as long
//   all communication    collectives, their fixed cost and their bytes, take y times as long
//
// with x and y such that the step predicted is the one measured. Where collectives cannot explain
// all of it (they are hidden, or there are none), they explain what they can and compute the rest;
// and the other way round, where compute would be faster than any GPU of its kind. Both hold for
// the measured job; for other settings of it they differ, and what is between them is not known.
#pragma once

#include <optional>
#include <string_view>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// To what the time is put down that a replay misses.
enum class Cause { compute, communication };
std::string_view name_of(Cause cause);  ///< "compute"

/// What must be so for a job's step to be the one measured.
struct Explanation {
  double compute = 1;      ///< compute takes so many times as long as predicted …
  double collectives = 1;  ///< … and collectives
  StepTimes times;         ///< the step, so explained
};

Explanation explain(const Job& job, Duration measured, Cause cause);
/// The job so explained. How fast its GPUs are, alone and together, is then certain.
Job explained(const Job& job, const Explanation& explanation);

struct MeasuredCorrection {
  Explanation all_compute;
  Explanation all_communication;
};
/// Absent where nothing was measured, or what was cannot be this job's (Replay::contradicted).
std::optional<MeasuredCorrection> correct(const Job& job, const std::optional<Replay>& replay);

/// Where a step measured without the profiler lies between what is predicted with all that the recording waited for and with
/// none of it: so much of each wait left that the step is the one measured, of waits for the host (launches where it set the
/// pace, pauses between steps) first, then of those for input. That is the usual case, and then neither compute nor communication
/// explains anything. Else absent.
std::optional<Job> without_profiler(const Job& job, Duration measured);

/// The compute stream of the recorded step without communication, and without its waits where those
/// are known, of the rank that takes longest, on this job's GPU where it is as fast as it may be. No
/// step is shorter, but for what GPUs of a kind differ.
Duration longest_stream(const Job& job);
/// The fastest of a kind takes 0.79 of what the slowest does: SGEMM on 392 V100s of one machine,
/// 0.952 and 1.203 of their median (hal-uw/blox-pal, sgemm-longhorn).
inline constexpr double kFastestGpu = 0.79;

}  // namespace ddpsim
