// Checks whether a log describes the machine that it is said to be from. Calibrating with a wrong
// log would carry its fault into every prediction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

struct LogHealth {
  /// Why it does not describe the cluster; one sentence each.
  std::vector<std::string> faults;
  /// Worth knowing, but no reason to distrust the log.
  std::vector<std::string> notes;
  bool other_unit = false;  ///< times are not in microseconds
  /// Median of measured over uncalibrated time at the largest sizes. Absent if all sizes are small.
  std::optional<double> slowdown;
  Bytes from, to;  ///< range of those sizes

  bool healthy() const { return faults.empty(); }
};

/// `cluster` has the log's shape. Compares the log with the uncalibrated cost model and with the
/// capacity of links. Names the likely cause if another machine would explain the times.
LogHealth health(const MeasuredLog& log, const Cluster& cluster, const CollectiveTuning& tuning);

/// Time of an all-reduce by the cluster's cost model.
double modelled_us(Bytes size, const Cluster& cluster, const CollectiveTuning& tuning);

/// Checks a log whose times are upper bounds: reports where the uncalibrated cost model exceeds
/// them, which no wait can explain. Empty if it does not.
std::string slower_than_bounds(const MeasuredLog& log, const Cluster& cluster,
                               const CollectiveTuning& tuning);

/// NCCL's setup as the log states it. The version is `fallback` if the log has none.
CollectiveTuning tuning_of(const MeasuredLog& log, NcclVersion fallback);

}  // namespace ddpsim
