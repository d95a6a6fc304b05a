// Calibrates a cluster with a recording made on it.
#pragma once

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Returns the cluster, calibrated with the recording's all-reduces if it is one node with the
/// recorded number and model of GPUs. It must be one node because no recording says how many nodes
/// its job had. A calibration given by the user stays. A published one is replaced only by a
/// recording of joined ranks, which shows transfers; a recording of one rank shows only bounds.
Cluster calibrated_by_recording(Cluster cluster, const Workload& workload,
                                const CollectiveTuning& tuning);

}  // namespace ddpsim
