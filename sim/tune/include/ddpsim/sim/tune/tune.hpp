// Is another bucket cap worth it? Simulates every bucketing that the chosen PyTorch lets a user
// reach, once each. The verdict compares the best of them with the current one.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/certainty/measured_correction.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

/// Upper end of a range of caps that has no upper limit: 2^63 - 1 bytes.
inline constexpr double kNoLimitMb = 9223372036854775807.0 / 1048576;

/// Values in MiB that people type for bucket_cap_mb; only these are recommended. The last is the
/// largest with which published steps were measured over a network.
inline constexpr std::array kTypedCaps = {0.1,  0.25, 0.5,  1.0,  2.0,   5.0,  8.0,
                                          10.0, 25.0, 50.0, 64.0, 100.0, 200.0};

/// The caps of kTypedCaps to consider for a job. Those below 0.5 MiB belong only to jobs whose gradients total at most 5 MiB.
std::span<const double> typed_caps(const Job& job);

/// One bucket assignment that a cap can give.
struct CurvePoint {
  /// What to pass; absent: the default (pass nothing).
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;  ///< first limit in force, MiB
  /// Caps in MiB, both ends included, that give this bucketing; PyTorch truncates a cap to whole
  /// bytes. kNoLimitMb: any cap from the low end up.
  std::pair<double, double> cap_range_mb{0, 0};
  Duration iteration;
  Duration exposed_communication;
  Duration blocking_communication;
  std::size_t buckets = 0;
  bool reachable = true;  ///< this PyTorch lets a user set it
  /// Set if the current step was measured. `iteration` then attributes the residual to compute;
  /// this is the step if communication explains it.
  std::optional<Duration> if_communication = {};
};

struct Gain {
  Duration value;
  Duration low;
  Duration high;
};

/// The current buckets, if they are not the default's: set by options, or recorded.
struct CurrentBuckets {
  bool recorded = false;
  CurvePoint point;  ///< recorded buckets have no limits
  std::vector<Bytes> bucket_bytes;
};

/// A cap whose predicted step is longer than the recommended one's by a measurable amount.
struct Cliff {
  double cap_mb = 0;
  Duration loss;
};

/// The nearest such cap on either side of the recommended one. Absent if there is none within
/// reach.
struct NextWorse {
  std::optional<Cliff> below;
  std::optional<Cliff> above;
};

/// Why a setting with a predicted gain is not recommended before something is measured.
enum class Doubt {
  /// The setting may cost more than a measurable amount, or than a quarter of its expected gain.
  loss,
  /// The setting's all-reduces are unlike any that was measured on this machine or one of its kind.
  sizes,
  /// With one node more or less, NICs 5 % off, or the next NCCL version, the setting gains too
  /// little or may cost too much.
  neighbour,
};
std::string_view name_of(Doubt doubt);  ///< "loss"

/// What to measure to decide whether to set a cap.
struct MeasureFirst {
  Doubt doubt = Doubt::loss;
  /// Follows "but": a sentence without a full stop.
  std::string because;
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
  Gain gain;  ///< of that setting
  /// Two or three all-reduce sizes that decide, ascending.
  std::vector<Bytes> sizes;
  std::string command;  ///< measures them
  std::string then;     ///< takes in the result
  Duration takes;       ///< approximate time of the command
  Bytes deciding;       ///< size that decides the outcome
  Duration predicted;   ///< time of that size
  /// The cap gains a measurable amount if that size takes no longer than this. Absent if no time of
  /// it would decide.
  std::optional<Duration> set_up_to;
};

struct Recommendation {
  /// Whether a setting is recommended. False: keep the current setting.
  bool set = false;
  bool default_as_current = true;  ///< the current setting is the default
  /// If `set` with neither this nor a first bucket: pass nothing, because PyTorch's default beats
  /// the current setting.
  std::optional<double> bucket_cap_mb;
  /// Given if the first bucket must be set separately.
  std::optional<double> first_bucket_mb;
  /// Caps around the recommended one, without a gap, whose predicted steps differ from its step by
  /// no more than `measurable`.
  std::pair<double, double> cap_range_mb{0, 0};
  /// iteration(current) - iteration(recommended).
  Gain gain;
  /// Mean of the gain over what is not known.
  Duration expected;
  /// Cost if the gain does not come true: -gain.low if that is a loss.
  Duration regret;
  /// Around `bucket_cap_mb`, if all caps near it were searched.
  std::optional<NextWorse> next_worse;
  /// If nothing is set: the gain of the most robust other setting.
  std::optional<Gain> most_robust;
  /// Set if a cap is predicted to gain but needs a measurement before it is recommended.
  std::optional<MeasureFirst> measure_first;
  /// Smaller gains cannot be told from noise.
  Duration measurable;
  /// Line to paste; empty if nothing is set.
  std::string python;
  std::string reason;  ///< one sentence
  /// Some cap gains under some of the possible versions but none under all, so the current setting
  /// is kept.
  bool depends_on_version = false;
  /// Some cap gains under one cause of the current step's residual (compute or communication) but
  /// none under both, so the current setting is kept.
  bool depends_on_cause = false;
};

struct BestPartition {
  std::vector<Bucket> buckets;
  Duration iteration;      ///< simulated in full
  bool reachable = false;  ///< by a cap or by bucket_cap_mb_list
  /// No better bucketing than that of the best cap was found.
  bool is_best_cap = false;
};

struct TuneOptions {
  /// Restricts the search to these caps (MiB); empty: every bucket assignment.
  std::vector<double> caps;
  /// 0: every core. The result does not depend on it.
  int threads = 0;
  /// Limit on the gradients in all simulated steps of a search together, about a second's work. If
  /// all bucketings exceed it, only those estimated fastest and a sample of the others are
  /// simulated.
  std::size_t most_gradients = 1'000'000;
  /// Share of the step below which two settings cannot be told apart. Medians of seven or more
  /// iterations repeat to 0.5 % (p90 0.9 %), so two differ measurably from about 1 % on.
  double measurable_share = 0.01;
  /// The current step, measured and replayed with the current options. Its residual corrects every
  /// setting. Nothing is recommended if measurement and replay contradict each other.
  std::optional<Replay> replay;
  /// If a recommendation does not hold under every possible version, search for the advice for
  /// each. Otherwise the recommendation is only withdrawn, which is enough when many jobs are
  /// compared.
  bool advise_each_version = true;
  /// Receives the number of settings simulated and weighed, search by search; it cannot stop them.
  Progress* progress = nullptr;
};

/// The advice if the version were known to be in this range.
struct AdviceByVersion {
  VersionRange versions;
  /// Whether a setting is recommended. False: keep the current setting.
  bool set = false;
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
  /// The smaller gain of the range's oldest and newest version.
  Gain gain;
};

/// The advice if the cause of the current step's residual were known.
struct AdviceByCause {
  Cause cause;
  /// Whether a setting is recommended. False: keep the current setting.
  bool set = false;
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
  Gain gain;
};

struct TuneResult {
  CurvePoint default_setting;             ///< nothing passed
  std::optional<CurrentBuckets> current;  ///< absent: the default
  /// The point from which every gain is counted.
  const CurvePoint& baseline() const { return current ? current->point : default_setting; }
  CurvePoint best;  ///< minimum of the reachable curve
  Recommendation recommended;
  std::vector<CurvePoint> curve;  ///< by first bucket, then by cap
  /// Number of bucketings missing from the curve, if there are very many.
  std::size_t unsimulated = 0;
  std::span<const double> typed_caps = kTypedCaps;  ///< those considered for this job
  /// The curve holds only TuneOptions::caps, not every bucketing.
  bool only_caps_asked = false;
  Duration lower_bound;  ///< collectives take no time
  std::optional<BestPartition> best_partition;
  std::string best_partition_absent_because;
  /// One entry for each range of possible versions, oldest first. If the recommendation is set, all
  /// entries have the same setting.
  std::vector<AdviceByVersion> by_version;
  /// Filled in if the current step was measured, compute first. If the recommendation is set, both
  /// have the same setting.
  std::vector<AdviceByCause> by_cause;
  /// What was not searched, and why; empty if everything was.
  std::string left_out;
};

/// If the job's version is not certain, the recommendation holds for all that may run.
TuneResult tune(const Job& job, const TuneOptions& tuning);

}  // namespace ddpsim
