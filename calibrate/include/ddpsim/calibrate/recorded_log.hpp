// The all-reduces of a recorded training as a log to calibrate with.
#pragma once

#include <optional>

#include "ddpsim/calibrate/measured_log.hpp"
#include "ddpsim/sim/cluster.hpp"
#include "ddpsim/sim/nccl.hpp"
#include "ddpsim/sim/workload.hpp"

namespace ddpsim {

/// Joined ranks give every size its transfers, the wait taken out. One rank's durations hold the wait for the last:
/// of those only the shortest of a size, and only where it is shorter than `cluster`'s cost model says, for it
/// proves that model too slow; longer ones prove nothing. Absent where nothing is left. The shape is the
/// cluster's, which has as many ranks.
std::optional<MeasuredLog> recorded_log(const Workload& workload, const Cluster& cluster,
                                        const CollectiveTuning& tuning);

}  // namespace ddpsim
