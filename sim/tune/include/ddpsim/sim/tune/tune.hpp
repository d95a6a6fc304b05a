// Is another bucket cap worth it? Every bucketing the chosen PyTorch lets a user reach is simulated
// once; the verdict compares the best of them with what the job does today.
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

/// Upper end of a range of caps that is open upwards: 2^63 - 1 bytes.
inline constexpr double kNoLimitMb = 9223372036854775807.0 / 1048576;

/// What people type for bucket_cap_mb, and so what is advised, in MiB; the last is the largest with which published steps
/// over a network were measured.
inline constexpr std::array kTypedCaps = {0.1,  0.25, 0.5,  1.0,  2.0,   5.0,  8.0,
                                          10.0, 25.0, 50.0, 64.0, 100.0, 200.0};

/// The caps of kTypedCaps to consider for a job. Those below 0.5 MiB belong only to jobs whose gradients total at most 5 MiB.
std::span<const double> typed_caps(const Job& job);

/// One bucket assignment that a cap can give.
struct CurvePoint {
  std::optional<double> bucket_cap_mb;    ///< what to pass; absent: the default (pass nothing)
  std::optional<double> first_bucket_mb;  ///< first limit in force, MiB
  /// Caps in MiB, both ends included, that give this very bucketing; PyTorch truncates a cap to whole
  /// bytes. kNoLimitMb: any cap from the low end up.
  std::pair<double, double> cap_range_mb{0, 0};
  Duration iteration;
  Duration exposed_communication;
  Duration blocking_communication;
  std::size_t buckets = 0;
  bool reachable = true;  ///< this PyTorch lets a user set it
  /// Where today's step was measured: `iteration` takes what its replay misses for compute; this is the
  /// step if it is communication.
  std::optional<Duration> if_communication = {};
};

struct Gain {
  Duration value;
  Duration low;
  Duration high;
};

/// What the job does today where that is not the default: as its options say, or the buckets it was recorded with.
struct CurrentBuckets {
  bool recorded = false;
  CurvePoint point;  ///< of recorded buckets without limits
  std::vector<Bytes> bucket_bytes;
};

/// A cap whose predicted step is longer than the recommended one's by more than can be measured.
struct Cliff {
  double cap_mb = 0;
  Duration loss;
};

/// The nearest on either side of the recommended cap; absent where there is none as far as caps reach.
struct NextWorse {
  std::optional<Cliff> below;
  std::optional<Cliff> above;
};

/// Why a setting that is predicted to gain is not advised before something is measured.
enum class Doubt {
  loss,  ///< it may cost more than could be measured, or than a quarter of what it is expected to gain
  sizes,  ///< its all-reduces are unlike any that was measured on this machine or one of its kind
  neighbour,  ///< with one node more or less, NICs 5 % off, or the next NCCL, it gains too little or may cost too much
};
std::string_view name_of(Doubt doubt);  ///< "loss"

/// What would decide whether to set a cap, and how.
struct MeasureFirst {
  Doubt doubt = Doubt::loss;
  std::string because;  ///< behind "but": a sentence without a full stop
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
  Gain gain;                 ///< of that setting
  std::vector<Bytes> sizes;  ///< two or three all-reduces that decide, ascending
  std::string command;       ///< measures them
  std::string then;          ///< takes in what was measured
  Duration takes;            ///< about, of the command
  Bytes deciding;            ///< the size by which the outcome is told
  Duration predicted;        ///< time of that size
  /// The cap gains what can be measured if that size takes no longer; absent where no time of it would decide.
  std::optional<Duration> set_up_to;
};

struct Recommendation {
  bool set = false;                ///< false: keep what runs today
  bool default_as_current = true;  ///< what runs today is the default
  /// Neither this nor a first bucket, and `set`: pass nothing, PyTorch's default is better than today.
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;  ///< set when the first bucket must be set apart
  /// Caps around it, without a gap, whose predicted steps differ from its step by no more than the
  /// measurable.
  std::pair<double, double> cap_range_mb{0, 0};
  Gain gain;          ///< iteration(today) - iteration(recommended)
  Duration expected;  ///< its mean over what is not known
  Duration regret;    ///< what it costs where it goes wrong: -gain.low where that is a loss
  std::optional<NextWorse>
      next_worse;                   ///< of `bucket_cap_mb`, where all caps around it were searched
  std::optional<Gain> most_robust;  ///< where nothing is set: gain of the most robust other setting
  /// A cap is predicted to gain, but something must be measured before it is advised.
  std::optional<MeasureFirst> measure_first;
  Duration measurable;  ///< gains below this cannot be told from noise
  std::string python;   ///< line to paste; empty where nothing is set
  std::string reason;   ///< one sentence
  /// Some cap gains under some of the versions it may be, none under all: today's is kept.
  bool depends_on_version = false;
  /// The same of what today's replay misses: compute or communication.
  bool depends_on_cause = false;
};

struct BestPartition {
  std::vector<Bucket> buckets;
  Duration iteration;        ///< simulated in full
  bool reachable = false;    ///< by a cap or by bucket_cap_mb_list
  bool is_best_cap = false;  ///< nothing better than the best cap was found
};

struct TuneOptions {
  std::vector<double>
      caps;         ///< restrict the search to these caps (MiB); empty: every bucket assignment
  int threads = 0;  ///< 0: as many as the machine has; the result does not depend on it
  /// Gradients that the simulated steps of a search have together, about: a second's work. Where all bucketings have
  /// more, those estimated fastest and a sample of the others are simulated.
  std::size_t most_gradients = 1'000'000;
  /// Share of the step below which two settings cannot be told apart: medians of seven or more
  /// iterations repeat to 0.5 % (p90 0.9 %), so a difference of two to about 1 %.
  double measurable_share = 0.01;
  /// Today's step, measured and replayed with the options in force: every setting is corrected by what the
  /// replay misses. Nothing is recommended where the two contradict each other.
  std::optional<Replay> replay;
  /// Where a recommendation does not hold under every version the job may be, search for what each would
  /// be advised. Otherwise it is only withdrawn: comparing many jobs, that is enough.
  bool advise_each_version = true;
  /// Told of the settings simulated and weighed, search by search; it cannot stop them.
  Progress* progress = nullptr;
};

/// What would be advised if it were known to be one of these versions.
struct AdviceByVersion {
  VersionRange versions;
  bool set = false;  ///< false: keep what runs today
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
  Gain gain;  ///< the least of its oldest and its newest version
};

/// What would be advised if it were known what the replay of today's step misses.
struct AdviceByCause {
  Cause cause;
  bool set = false;  ///< false: keep what runs today
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
  Gain gain;
};

struct TuneResult {
  CurvePoint default_setting;             ///< nothing passed
  std::optional<CurrentBuckets> current;  ///< absent: the default
  /// From what every gain is counted.
  const CurvePoint& baseline() const { return current ? current->point : default_setting; }
  CurvePoint best;  ///< minimum of the reachable curve
  Recommendation recommended;
  std::vector<CurvePoint> curve;  ///< by first bucket, then by cap
  std::size_t unsimulated = 0;  ///< bucketings beside those of the curve, where there are very many
  std::span<const double> typed_caps = kTypedCaps;  ///< those for this job
  bool only_caps_asked = false;  ///< the curve is of TuneOptions::caps, not of every bucketing
  Duration lower_bound;          ///< collectives take no time
  std::optional<BestPartition> best_partition;
  std::string best_partition_absent_because;
  /// Of each range of possible versions, oldest first; all are set alike where the recommendation is.
  std::vector<AdviceByVersion> by_version;
  /// Where today's step was measured, compute first; both are set alike where the recommendation is.
  std::vector<AdviceByCause> by_cause;
  std::string left_out;  ///< what was not searched and why; empty when nothing was
};

/// Where the job's version is not certain, what is recommended holds for all it may be.
TuneResult tune(const Job& job, const TuneOptions& tuning);

}  // namespace ddpsim
