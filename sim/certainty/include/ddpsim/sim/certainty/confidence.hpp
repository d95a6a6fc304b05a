// How sure: a grade, an interval from named sources, and warnings.
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

/// A: calibrated on this cluster and today's step reproduced. B: calibrated on a sibling, a vendor log or the joined
/// ranks of a recording. C: specification only, or one rank's recording.
enum class Grade { a, b, c };
std::string_view name_of(Grade grade);  ///< "A"

Grade grade_of(const Cluster& cluster, bool step_reproduced);
/// The grade in words: "measured on this cluster", "calibrated by published logs".
std::string_view provenance_of(const Cluster& cluster, Grade grade);
/// What the times of collectives rest on, as a sentence without a full stop.
std::string calibration_of(const Cluster& cluster);

/// What a prediction may err by.
enum class ErrorSource {
  fixed_cost,         ///< of collectives: launch, latencies, the pipeline's fill
  bandwidth,          ///< of collectives
  collective_times,   ///< both together: of gloo, and in a table of all-reduces
  interference,       ///< of compute and NCCL's kernels
  ddp_costs,          ///< DDP's copies and what its host does
  gpu_spread,         ///< how far the slowest of the GPUs lies from the usual one
  rank_slowdown,      ///< what several ranks cost unexplained
  compute_scale,      ///< of a GPU that was not recorded on
  replay_residual,    ///< what today's step leaves open: whether compute or communication misses it
  measurement_noise,  ///< of the step it will be held against
  host_delays,        ///< a GPU that waited for the host may not wait without the profiler
  step_spread,        ///< from one recorded step to the next
  leaf_placement,  ///< how many nodes share a leaf: what they send each other crosses nothing narrow
  launch_cost,     ///< what the host takes to launch one of the model's kernels
  recorded_waits,  ///< recorded all-reduces took longer than is predicted: they waited, or the model is too fast
  host_work,  ///< an optimizer that steps on the host, whose rate nobody measured
  schemes,    ///< what two schemes do that is not simulated; only of one against another
};

/// By how much one source may make a time shorter (low <= 0) or longer (high >= 0).
struct Sensitivity {
  ErrorSource source;
  Duration low;
  Duration high;
  Duration width() const { return high - low; }
};

/// How far the truth may lie from what is predicted.
struct Spread {
  Duration low;   ///< <= 0
  Duration high;  ///< >= 0
};

/// What would narrow an interval most.
struct NextMeasurement {
  ErrorSource source;   ///< of the interval
  std::string command;  ///< to run, or to do, on the cluster
  std::string then;     ///< what to give its result to
  bool operator==(const NextMeasurement&) const = default;
};

struct Confidence {
  Grade grade = Grade::c;
  double low_percent = 0;   ///< the true step lies between prediction * (1 + low / 100) …
  double high_percent = 0;  ///< … and prediction * (1 + high / 100)
  std::vector<std::string> because;
  std::optional<NextMeasurement> measure_next;  ///< absent: no single measurement would help
  /// Every source of the interval, widest first: the root of the sum of their squares, to either
  /// side, is the interval. Of the step predicted without jitter. Where a measured step contradicts it, what
  /// lies between the two is named beside them.
  std::vector<Sensitivity> sensitivities;
  Duration predicted;  ///< that step
  /// By cause, what it loses, in the same scenarios; measurement noise has no cause.
  std::array<Spread, kLossCauses> loss{};
  /// What it rests on in words: "calibrated by published logs"; an estimate is never called calibrated.
  std::string provenance;
  std::string basis;   ///< what the grade rests on; `because` has it too
  std::string beyond;  ///< how the cluster differs in size from what was measured; mostly empty
};

/// How far steps that were measured lie apart: four in five further ones from `low` to `high` (step_spread.hpp).
struct MeasuredSpread {
  std::size_t steps = 0;
  Duration low;
  Duration high;
};

/// What a job's steps took without a profiler.
struct MeasuredStep {
  Duration median;
  std::optional<MeasuredSpread> spread = {};  ///< absent where one figure was given
  std::string source = {};                    ///< of a file: which of its values, for people
};

/// Today's step, replayed before anything is predicted.
struct Replay {
  Duration measured;
  Duration predicted;
  std::optional<MeasuredSpread> spread = {};  ///< of what was measured
  std::string source = {};                    ///< of what was measured, for people
  Duration residual() const { return measured - predicted; }
  /// What it misses, whichever way.
  Duration missed() const { return std::max(residual(), -residual()); }
  double missed_share() const { return missed() / measured; }
  /// No more than a twentieth is left unexplained.
  bool reproduced() const { return missed_share() <= 0.05; }
  /// More than twice or less than half of what was measured: another job was recorded, or a unit slipped.
  bool contradicted() const { return predicted > 2 * measured || 2 * predicted < measured; }
};

/// Confidence of a simulated step: re-simulates with each named source of error at its bounds. Where this
/// job's own step was measured, `predicted` is what it was corrected to, and no source moves that but the
/// measurement's; `otherwise` is that step, should communication explain it. On so many threads (0: as many as the machine
/// has); nothing depends on it.
Confidence assess(const Job& job, const StepTimes& predicted, const std::optional<Replay>& replay,
                  const std::optional<StepTimes>& otherwise = std::nullopt, int threads = 1);

/// What a cause takes, at the least and at the most; nothing that cannot gain gets below zero.
struct LossInterval {
  Duration low;
  Duration high;
};
LossInterval loss_interval(LossCause cause, const Loss& loss, const Confidence& confidence);

}  // namespace ddpsim
