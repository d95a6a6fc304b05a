// A recording made on the very cluster calibrates it.
#pragma once

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// `cluster`, calibrated with the recording's all-reduces where it is one node of as many GPUs of the same model as
/// were recorded and not calibrated otherwise: how many nodes a job had no recording says.
Cluster calibrated_by_recording(Cluster cluster, const Workload& workload,
                                const CollectiveTuning& tuning);

}  // namespace ddpsim
