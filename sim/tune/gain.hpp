// What another bucketing gains over today's, and how sure that is.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "ddpsim/sim/certainty/measured_correction.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "rule.hpp"

namespace ddpsim {

/// Another way to run a job: the same job, but for what it sets.
using Change = std::function<Job(const Job&)>;

/// What a change touches, by which it is weighed.
struct ChangeTraits {
  bool sets_buckets = false;  ///< it chooses what all-reduces carry
  bool sets_else = true;  ///< it may save copies, hooks and waits as well, not communication alone
  bool loads_data = false;   ///< it may save waits for input
  bool spares_host = false;  ///< it may save waits for launches
  bool other_collectives =
      false;  ///< they run by other algorithms or channels: NCCL's own choice was measured, this was not
};
inline constexpr ChangeTraits kBucketsAlone{.sets_buckets = true, .sets_else = false};

/// What a script sets to get a bucketing.
struct BucketCaps {
  std::optional<double> bucket_cap_mb;
  std::optional<double> first_bucket_mb;
};

/// The same job, its steady step with these buckets.
Job with_buckets(const Job& job, std::vector<Bucket> buckets);
/// By these caps, at which DDPOptimizer cuts too, where the job is compiled.
Job with_buckets(const Job& job, std::vector<Bucket> buckets, const BucketCaps& caps);

/// The step with these buckets if collectives, what hooks do to them, their launches and their
/// interference took no time at all: no bucketing is faster.
Duration lower_bound(const Job& job, std::vector<Bucket> buckets);

/// A job whose step was measured, and one cause of what its replay misses.
struct MeasuredCause {
  Duration measured;
  Cause cause;
};

/// What a job may be read as: itself where nothing was measured (one reading, empty), else with its measured step
/// explained by each cause. None is likelier than another.
using Readings = std::vector<std::optional<MeasuredCause>>;

/// Compute first.
Readings readings_of(const std::optional<Duration>& measured);

/// The job itself where nothing was measured, else as the cause explains the measured step.
Job as_measured(const Job& job, const std::optional<MeasuredCause>& measured);

/// Gains over one bucketing of a job, weighed with every source of error at its bounds: of other bucketings and whatever else can be
/// changed. A step that was measured is that step whatever the source does: at each bound each reading explains it anew.
///
/// Of a recording whose host set the pace a gain spans both ends, all of the waits for the host and none, and its value is the
/// lesser of the two: what only the profiler's waits would save is no gain.
///
/// No gain, and no bound of one, exceeds what the change could save in this step. The allowance for multi-GPU overhead, which other
/// people's published jobs teach, enters no gain: each micro-batch has as much of it before and after.
class Gains {
 public:
  Gains(const Job& job, std::vector<Bucket> before, const Readings& readings);

  /// The job as each reading explains it; gains are differences of its steps.
  std::size_t readings() const { return readings_.size(); }
  const Job& job(std::size_t reading) const { return readings_[reading].expected.job; }
  /// Steps that are simulated to weigh one change.
  std::size_t steps() const;
  /// The waits for the host may be the profiler's: no step without it was measured.
  bool may_be_profilers() const { return unprofiled_.has_value(); }
  /// By the first reading.
  Duration step_before() const { return readings_.front().expected.before; }
  /// Over several readings: the mean of values, the least low, the greatest high. A step that takes several micro-batches
  /// counts by today's number of them. Where collectives run otherwise, what today's are mistaken by says nothing of the others.
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
  /// No change saves more.
  struct MostSaved {
    Duration communication;  ///< cost of collectives: no other bucketing saves more
    Duration beside;         ///< copies, hooks and waits for other ranks
    Duration input;          ///< waits for batches
    Duration launches;       ///< waits for the host
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
  /// Of a recording whose host set the pace, where no step was measured: without its waits, which the profiler may have caused.
  std::optional<Reading> unprofiled_;
};

}  // namespace ddpsim
