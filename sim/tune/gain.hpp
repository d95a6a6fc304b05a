// What another bucketing gains over today's, and how sure that is.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/measured_correction.hpp"
#include "ddpsim/sim/tune.hpp"

namespace ddpsim {

/// The same job, its steady step with these buckets.
Job with_buckets(const Job& job, std::vector<Bucket> buckets);

/// The step with these buckets if collectives, what hooks do to them, their launches and their
/// interference took no time at all: no bucketing is faster.
Duration lower_bound(const Job& job, std::vector<Bucket> buckets);

/// A job whose step was measured, and one cause of what its replay misses.
struct MeasuredCause {
  Duration measured;
  Cause cause;
};

/// The job itself where nothing was measured, else as the cause explains the measured step.
Job as_measured(const Job& job, const std::optional<MeasuredCause>& measured);

/// Gains over one bucketing of a job, weighed with every source of error at its bounds. A step that was
/// measured is that step whatever the source does: at each bound the cause explains it anew.
class Gains {
 public:
  Gains(const Job& job, std::vector<Bucket> before, const std::optional<MeasuredCause>& measured);

  /// The job itself, explained; gains are differences of its steps.
  const Job& job() const { return expected_; }
  Duration step_before() const { return step_before_; }
  Gain of(const std::vector<Bucket>& after) const;

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
  Bound bound(const Job& job) const;

  std::vector<Bucket> before_;
  Job expected_;
  Duration step_before_;
  std::vector<Bounds> bounds_;
};

/// The least gain worth an advice where a step takes `iteration`.
Duration least_gain(Duration iteration, const TuneOptions& tuning);

}  // namespace ddpsim
