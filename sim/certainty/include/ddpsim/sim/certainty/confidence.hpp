// Confidence in a prediction: a grade, an interval from named sources of error, and warnings.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// A: calibrated on this cluster, and the current step was reproduced. B: calibrated by a similar
/// cluster, a vendor's log or the joined ranks of a recording. C: data sheet values only, or the
/// recording of one rank.
enum class Grade { a, b, c };
std::string_view name_of(Grade grade);  ///< "A"

Grade grade_of(const Cluster& cluster, bool step_reproduced);
/// The grade in words, such as "measured on this cluster" or "calibrated by published logs".
std::string_view provenance_of(const Cluster& cluster, Grade grade);
/// What collective times rest on, as a sentence without a full stop.
std::string calibration_of(const Cluster& cluster);

/// Why a prediction may be wrong.
enum class ErrorSource {
  fixed_cost,        ///< of collectives: launch, latencies, pipeline fill
  bandwidth,         ///< of collectives
  collective_times,  ///< of collectives as a whole: gloo, all-reduce tables
  interference,      ///< between compute and NCCL's kernels
  ddp_costs,         ///< DDP's copies and host work
  gpu_spread,        ///< how much slower the slowest GPU is
  rank_slowdown,     ///< multi-GPU overhead
  compute_scale,     ///< for a GPU that was not recorded
  /// Residual of the current step: either compute or communication may explain it.
  replay_residual,
  measurement_noise,  ///< of the step the prediction is compared with
  /// A GPU that waited for the host in the recording may not wait without the profiler.
  host_delays,
  step_spread,  ///< from one recorded step to the next
  /// How many nodes share a leaf switch: traffic within a leaf crosses no narrow link.
  leaf_placement,
  launch_cost,  ///< host time to launch one model kernel
  /// Recorded all-reduces took longer than predicted: they waited, or the model is too fast.
  recorded_waits,
  /// The optimizer steps on the host, at a rate that nobody measured.
  host_work,
  /// What a scheme other than DDP does that is not simulated.
  schemes,
};

/// How much one source may shorten (low <= 0) or lengthen (high >= 0) a time.
struct Sensitivity {
  ErrorSource source;
  Duration low;
  Duration high;
  Duration width() const { return high - low; }
};

/// How far the true value may lie from the predicted one.
struct Spread {
  Duration low;   ///< <= 0
  Duration high;  ///< >= 0
};

/// The measurement that would narrow an interval most.
struct NextMeasurement {
  ErrorSource source;   ///< source of error it narrows
  std::string command;  ///< what to run, or do, on the cluster
  std::string then;     ///< what to pass the result to
  bool operator==(const NextMeasurement&) const = default;
};

struct Confidence {
  Grade grade = Grade::c;
  /// The true step lies between prediction * (1 + low_percent / 100) and prediction * (1 +
  /// high_percent / 100).
  double low_percent = 0;
  double high_percent = 0;
  std::vector<std::string> because;
  /// Absent if no single measurement would help.
  std::optional<NextMeasurement> measure_next;
  /// Every source of the interval, widest first, for the step predicted without jitter. The
  /// interval is the root of the sum of their squares, separately to either side. If a measured
  /// step contradicts the prediction, the interval also reaches that step and its residual is added.
  std::vector<Sensitivity> sensitivities;
  Duration predicted;  ///< the step they belong to
  /// Spread of each cause of loss over the same scenarios. Measurement noise has no cause of loss.
  std::array<Spread, kLossCauses> loss{};
  /// What the prediction rests on in words, such as "calibrated by published logs". An estimate is
  /// never called calibrated.
  std::string provenance;
  std::string basis;  ///< what the grade rests on; also in `because`
  /// How the cluster differs in size from what was measured; usually empty.
  std::string beyond;
};

/// How far measured steps differ: 80 % of further steps take from `low` to `high`
/// (step_spread.hpp).
struct MeasuredSpread {
  std::size_t steps = 0;
  Duration low;
  Duration high;
};

/// Time of a job's steps without a profiler.
struct MeasuredStep {
  Duration median;
  std::optional<MeasuredSpread> spread = {};  ///< absent if a single number was given
  std::string source = {};                    ///< which value of a file, for people
};

/// A prediction that is further than this factor from a measurement is of another job.
inline constexpr double kAnotherJob = 2;

/// The job's current step, replayed before anything is predicted.
struct Replay {
  Duration measured;
  Duration predicted;
  std::optional<MeasuredSpread> spread = {};  ///< of the measured steps
  std::string source = {};                    ///< which value was measured, for people
  double most_apart = kAnotherJob;            ///< factor (most_apart)
  Duration residual() const { return measured - predicted; }
  /// Distance between the measured and the predicted step, in either direction.
  Duration missed() const { return std::max(residual(), -residual()); }
  double missed_share() const { return missed() / measured; }
  /// Whether at most 5 % of the measured step is unexplained.
  bool reproduced() const { return missed_share() <= 0.05; }
  /// Whether the prediction is too far from the measured step. Then another job was recorded, or a
  /// unit is wrong.
  bool contradicted() const {
    return predicted > measured.scaled(most_apart) || predicted.scaled(most_apart) < measured;
  }
};

/// Factor between predicted and measured step from which they belong to different jobs. It is two,
/// and more if the host's assumed launches take half of the step or longer, because hosts differ.
double most_apart(const Job& job, const StepTimes& predicted);

/// Confidence in a simulated step; simulates it again with each named source of error at its
/// bounds. If this job's own step was measured, `predicted` is the corrected step, and only
/// measurement noise moves it. `otherwise` is that step if communication explains the residual.
/// Uses `threads` threads (0: every core); the result does not depend on it.
Confidence assess(const Job& job, const StepTimes& predicted, const std::optional<Replay>& replay,
                  const std::optional<StepTimes>& otherwise = std::nullopt, int threads = 1);

/// The least and the most time that a cause costs. A cause that cannot gain time never goes below
/// zero.
struct LossInterval {
  Duration low;
  Duration high;
};
LossInterval loss_interval(LossCause cause, const Loss& loss, const Confidence& confidence);

}  // namespace ddpsim
