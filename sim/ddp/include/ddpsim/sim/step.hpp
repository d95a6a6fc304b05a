// One training step: job -> result. A pure function: same input, same bits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/job.hpp"
#include "ddpsim/sim/limits.hpp"
#include "ddpsim/sim/progress.hpp"
#include "ddpsim/sim/result.hpp"

namespace ddpsim {

/// Sums of a step must stay far inside 63 bits of picoseconds (106 days).
inline constexpr double kLongestStepSeconds = 1e6;

/// Speed of the cluster's compute relative to the recording's: compute scale and multi-GPU slowdown together.
double compute_speed(const Job& job);

/// Buckets of the steady step, in launch order: those under study, else the reducer's own.
std::vector<Bucket> buckets_of(const Job& job);

/// What the all-reduces of the steady step carry, bucket by bucket in launch order; then what local SGD averages.
std::vector<Bytes> all_reduce_sizes(const Job& job);

/// Why a recorded step cannot be replayed under these options: no timing, or a parameter without a gradient, at which DDP
/// would stop.
std::optional<std::string> cannot_replay(const Workload& workload, const DdpOptions& ddp);

/// Why the job cannot be simulated (unknown shapes, no timing, …), with the option that would help;
/// absent when it can.
std::optional<std::string> cannot_simulate(const Job& job);

/// Whether the step is drawn, too, span by span: of a million gradients that takes as long as the step.
enum class WithTimeline { no, yes };

/// Precondition: cannot_simulate(job) is absent. Of several iterations `progress` hears after each, and may stop: the result
/// is then what as many asked for would have given.
SimulationResult simulate(const Job& job, Progress* progress = nullptr,
                          WithTimeline with_timeline = WithTimeline::yes);

/// The steady step's times alone; the same numbers as simulate(job).step.times, for sweeps: gradients that nothing comes
/// between are computed as one.
StepTimes simulate_times(const Job& job);

}  // namespace ddpsim
