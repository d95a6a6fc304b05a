// The logs a fit rests on: one part each, checked, alone and against one another.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

/// How much noisier a training's all-reduce is than one of all_reduce_perf, which is a mean of
/// twenty: compute beside it slows it, and the ranks' clocks agree to some microseconds.
inline constexpr double kRecordedNoise = 2;

/// A log that takes part.
struct Part {
  const MeasuredLog* log;
  JobShape shape;
  Cluster cluster;  ///< uncalibrated, at the log's shape
  CollectiveTuning tuning;
  std::vector<MeasuredPoint> points;  ///< one per size
  std::vector<std::string> faults;    ///< why health distrusts it
  bool published = false;             ///< of another machine of the kind
};

/// At least one. What is left out and what is worth knowing goes to `fit`. Throws InputError for a log
/// that cannot be fitted, two of one shape that contradict each other, and where nothing is left.
std::vector<Part> parts_of(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at,
                           const FitOptions& options, Fit& fit);

/// Throws InputError where the fit would take too long.
void check_size(const std::vector<Part>& parts);

/// Four in five repeats of a measurement lie within 1.28 of this: in place beside out of place of one
/// log, and each of two logs of one shape beside their mean, which the fit gives back. The wider of
/// the two decides: what one log repeats well, another day may not.
SizeSpread repeatability_of(const std::vector<Part>& parts);

}  // namespace ddpsim
