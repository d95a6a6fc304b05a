// What another bucketing gains over the current one, and how certain that is.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "ddpsim/sim/certainty/measured_correction.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "rule.hpp"

namespace ddpsim {

/// Another way to run a job: returns the job with some settings changed.
using Change = std::function<Job(const Job&)>;

/// What a change affects; decides how its gain is weighed.
struct ChangeTraits {
  /// Whether the change decides which gradients form a bucket.
  bool sets_buckets = false;
  /// Whether the change may save copies, hooks and waits. False: it can only save communication.
  bool sets_else = true;
  /// Whether the change may save waits for input.
  bool loads_data = false;
  /// Whether the change may save waits for launches.
  bool spares_host = false;
  /// Collectives use other algorithms or channels. NCCL's own choice was measured, this one was
  /// not.
  bool other_collectives = false;
};
inline constexpr ChangeTraits kBucketsAlone{.sets_buckets = true, .sets_else = false};

/// What a script sets to get a bucketing.
struct BucketCaps {
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
};

/// The job with these buckets in its steady step.
Job with_buckets(const Job& job, std::vector<Bucket> buckets);
/// The job with these buckets in its steady step, as these caps give them. If the job is compiled,
/// DDPOptimizer cuts at the caps too.
Job with_buckets(const Job& job, std::vector<Bucket> buckets, const BucketCaps& caps);

/// Step time with these buckets if collectives, their hooks, launches and interference took no
/// time. No bucketing is faster.
Duration lower_bound(const Job& job, std::vector<Bucket> buckets);

/// The measured step of a job, and one cause of its replay's residual.
struct MeasuredCause {
  Duration measured;
  Cause cause;
};

/// The ways to read a job. If nothing was measured there is one, empty reading: the job itself.
/// Otherwise there is one reading per cause, each explaining the measured step. All are equally
/// likely.
using Readings = std::vector<std::optional<MeasuredCause>>;

/// Compute comes first.
Readings readings_of(const std::optional<Duration>& measured);

/// The job itself if nothing was measured; otherwise the job as the cause explains the measured
/// step.
Job as_measured(const Job& job, const std::optional<MeasuredCause>& measured);

/// Gains of other bucketings and changes over one bucketing of a job, weighed with every source of
/// error at its bounds. A measured step stays fixed whatever the source does: at each bound, each
/// reading explains it anew.
///
/// If the host set the pace of a recording, a gain spans two cases: all waits for the host, and
/// none. Its value is the smaller of the two, because saving waits that only the profiler caused is
/// no gain.
///
/// No gain, and no bound of one, exceeds what the change could save in this step. The allowance for
/// multi-GPU overhead, learned from published jobs, enters no gain. Each micro-batch has the same
/// allowance before and after.
class Gains {
 public:
  Gains(const Job& job, std::vector<Bucket> before, const Readings& readings);

  /// The job under each reading. Gains are differences of its steps.
  std::size_t readings() const { return readings_.size(); }
  const Job& job(std::size_t reading) const { return readings_[reading].expected.job; }
  /// Number of steps simulated to weigh one change.
  std::size_t steps() const;
  /// Whether the profiler may have caused the waits for the host: no step without it was measured.
  bool may_be_profilers() const { return unprofiled_.has_value(); }
  /// Step time of the first reading.
  Duration step_before() const { return readings_.front().expected.before; }
  /// Over several readings: the mean of values, the least low and the greatest high. If a step
  /// takes several micro-batches, the gain is for the current number of them. If collectives run
  /// differently, the error of the current ones tells nothing about the error of the others.
  WeighedGain of(const Change& change, const ChangeTraits& traits) const;

 private:
  struct Bound {
    Job job;
    Duration before;
  };
  struct Bounds {
    ErrorSource source;
    Bound one;
    Bound other;
  };
  /// Upper bounds on what any change saves.
  struct MostSaved {
    /// Cost of collectives; no other bucketing saves more.
    Duration communication;
    Duration beside;    ///< copies, hooks and waits for other ranks
    Duration input;     ///< waits for batches
    Duration launches;  ///< waits for the host
    Duration by(const ChangeTraits& traits) const;
  };
  struct Reading {
    Bound expected;
    MostSaved most;
    std::vector<Bounds> bounds;
  };
  static Duration gain(Duration most, const Bound& bound, const Change& change);
  static WeighedGain with_shared_errors(const Reading& reading, Duration most,
                                        const Change& change);
  static WeighedGain with_own_errors(const Reading& reading, Duration most, const Change& change);
  static WeighedGain gain_of(const Reading& reading, const Change& change,
                             const ChangeTraits& traits);
  MostSaved most_saved(const Job& read, const StepTimes& before) const;
  Reading reading(const Job& job, const std::optional<MeasuredCause>& measured) const;
  StepTimes times_before(const Job& job) const;
  Bound bound(const Job& job) const;

  std::vector<Bucket> before_;
  std::vector<Reading> readings_;
  /// Set if the host set the pace of the recording and no step was measured: a reading without the
  /// waits that the profiler may have caused.
  std::optional<Reading> unprofiled_;
};

}  // namespace ddpsim
