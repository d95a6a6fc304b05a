// Explains why a measured step differs from the step predicted for the same job.
//
// Nothing tells which part of the step the replay mispredicts, so both extremes are considered:
//
//   all compute          compute takes x times as long
//   all communication    collectives, both fixed cost and bytes, take y times as long
//
// The factors x and y make the predicted step equal the measured one. Collectives cannot explain
// the whole residual if they are hidden or absent. They then explain what they can, and compute
// explains the rest. The roles swap if compute would have to be faster than any GPU of its kind.
// Both explanations hold for the measured job. They differ for its other settings, and what lies
// between them is unknown.
#pragma once

#include <optional>
#include <string_view>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// What the residual of a replay is attributed to.
enum class Cause { compute, communication };
std::string_view name_of(Cause cause);  ///< "compute"

/// The factors that make a job's predicted step equal the measured one.
struct Explanation {
  double compute = 1;      ///< factor on the predicted time of compute
  double collectives = 1;  ///< factor on the predicted time of collectives
  StepTimes times;         ///< the step with both factors
};

Explanation explain(const Job& job, Duration measured, Cause cause);
/// The job with both factors applied. The speed of its GPUs, alone and together, is then certain.
Job explained(const Job& job, const Explanation& explanation);

struct MeasuredCorrection {
  Explanation all_compute;
  Explanation all_communication;
};
/// Absent if nothing was measured, or if the measured step cannot be this job's
/// (Replay::contradicted).
std::optional<MeasuredCorrection> correct(const Job& job, const std::optional<Replay>& replay);

/// Explains a step that was measured without the profiler and lies between two predictions: with
/// all recorded waits, and with none. That is the usual case. Keeps the share of each wait that
/// makes the predicted step equal the measured one. Waits for the host (launches that set the pace,
/// pauses between steps) are shortened first, then waits for input. Neither compute nor
/// communication then explains anything. Absent in every other case.
std::optional<Job> without_profiler(const Job& job, Duration measured);

/// Length of the recorded compute stream without communication and without its waits, if those are
/// known. Takes the slowest rank, on the fastest GPU that this job's may be. No step is shorter,
/// except for the differences between GPUs of one kind.
Duration longest_stream(const Job& job);
/// The fastest GPU of a kind needs 0.79 of the slowest one's time. SGEMM on 392 V100s of one
/// machine took 0.952 to 1.203 of the median (hal-uw/blox-pal, sgemm-longhorn).
inline constexpr double kFastestGpu = 0.79;

}  // namespace ddpsim
