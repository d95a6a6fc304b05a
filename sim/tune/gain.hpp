// What another bucketing gains over today's, and how sure that is.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "ddpsim/sim/measured_correction.hpp"
#include "ddpsim/sim/tune.hpp"
#include "rule.hpp"

namespace ddpsim {

/// Another way to run a job: the same job, but for what it sets.
using Change = std::function<Job(const Job&)>;

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

/// Gains over one bucketing of a job, of other bucketings and whatever else can be changed, weighed with every source of error at its bounds. A step that was
/// measured is that step whatever the source does: at each bound each reading explains it anew.
class Gains {
 public:
  Gains(const Job& job, std::vector<Bucket> before, const Readings& readings);

  /// The job as each reading explains it; gains are differences of its steps.
  std::size_t readings() const { return readings_.size(); }
  const Job& job(std::size_t reading) const { return readings_[reading].expected.job; }
  /// Steps that are simulated to weigh one change.
  std::size_t steps() const;
  /// By the first reading.
  Duration step_before() const { return readings_.front().expected.before; }
  /// Of several readings: the mean of values, the least low, the greatest high. A step that takes several micro-batches
  /// counts by today's number of them.
  WeighedGain of(const Change& change) const;
  WeighedGain of(const std::vector<Bucket>& after) const;
  /// Of a change that has collectives run by another algorithm, or otherwise than they were measured: what one is
  /// mistaken by says nothing of the other.
  WeighedGain of_other_collectives(const Change& change) const;

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
  struct Reading {
    Bound expected;
    std::vector<Bounds> bounds;
  };
  static Duration gain(const Bound& bound, const Change& change);
  static WeighedGain with_shared_errors(const Reading& reading, const Change& change);
  static WeighedGain with_own_errors(const Reading& reading, const Change& change);
  Reading reading(const Job& job, const std::optional<MeasuredCause>& measured) const;
  Bound bound(const Job& job) const;

  std::vector<Bucket> before_;
  std::vector<Reading> readings_;
};

}  // namespace ddpsim
