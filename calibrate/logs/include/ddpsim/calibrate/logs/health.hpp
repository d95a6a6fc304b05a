// Whether a log describes the machine it is said to be of. Calibrating on one that does not would
// carry its fault into every prediction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

struct LogHealth {
  std::vector<std::string> faults;  ///< why it does not describe the cluster, a sentence each
  std::vector<std::string> notes;   ///< worth knowing, and no reason to distrust it
  bool other_unit = false;          ///< times in something else than microseconds
  /// Median of measured over the uncalibrated cost model at the largest sizes; absent where all are small.
  std::optional<double> slowdown;
  Bytes from, to;  ///< sizes it was taken over

  bool healthy() const { return faults.empty(); }
};

/// `cluster` has the log's shape. Compares with the uncalibrated cost model and with what links can carry
/// at all; names the likely cause where another machine would explain the times.
LogHealth health(const MeasuredLog& log, const Cluster& cluster, const CollectiveTuning& tuning);

/// Of an all-reduce, by the cluster's cost model.
double modelled_us(Bytes size, const Cluster& cluster, const CollectiveTuning& tuning);

/// Of a log whose times are upper bounds: where the uncalibrated cost model is above them, which no wait
/// explains; empty where it is not.
std::string slower_than_bounds(const MeasuredLog& log, const Cluster& cluster,
                               const CollectiveTuning& tuning);

/// NCCL as the log says it was set up; its version where the log has one, else `fallback`.
CollectiveTuning tuning_of(const MeasuredLog& log, NcclVersion fallback);

}  // namespace ddpsim
