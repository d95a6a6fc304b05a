// The logs that a fit rests on, one part each, checked individually and against each other.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

/// How much noisier a training's all-reduce is than one of all_reduce_perf, which is a mean of
/// twenty. Concurrent compute slows it down, and the clocks of ranks agree only to some
/// microseconds.
inline constexpr double kRecordedNoise = 2;

/// A log that takes part in the fit.
struct Part {
  const MeasuredLog* log;
  JobShape shape;
  Cluster cluster;  ///< not calibrated, at the log's shape
  CollectiveTuning tuning;
  std::vector<MeasuredPoint> points;  ///< one per size
  std::vector<std::string> faults;    ///< why `health` distrusts it
  bool published = false;             ///< from another machine of the kind
};

/// Returns at least one part. Logs that are left out and notes are added to `fit`. Throws
/// InputError for a log that cannot be fitted, for two logs of one shape that contradict each
/// other, and if nothing is left.
std::vector<Part> parts_of(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at,
                           const FitOptions& options, Fit& fit);

/// Throws InputError if the fit would take too long.
void check_size(const std::vector<Part>& parts);

/// 80 % of repeated measurements lie within 1.28 times this. It compares in place with out of place
/// within a log, and each of two logs of one shape with their mean, which the fit returns. The
/// wider of the two decides, because another day may not repeat what one log repeats well.
SizeSpread repeatability_of(const std::vector<Part>& parts);

}  // namespace ddpsim
