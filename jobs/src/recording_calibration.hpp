// A recording made on the very cluster calibrates it.
#pragma once

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Returns the cluster, calibrated with the recording's all-reduces where it is one node with as many GPUs of the same model as
/// were recorded: no recording says how many nodes its job had. A calibration of the user's stays. A published one gives way
/// only to a recording of joined ranks, which shows transfers; a recording of one rank shows bounds.
Cluster calibrated_by_recording(Cluster cluster, const Workload& workload,
                                const CollectiveTuning& tuning);

}  // namespace ddpsim
