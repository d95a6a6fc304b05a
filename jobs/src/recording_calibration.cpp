#include "recording_calibration.hpp"

#include <memory>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/logs/recorded_log.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/certainty/recorded_all_reduces.hpp"
#include "ddpsim/sim/nccl/correction.hpp"

namespace ddpsim {

Cluster calibrated_by_recording(Cluster cluster, const Workload& workload,
                                const CollectiveTuning& tuning) {
  const bool own = cluster.calibration && !is_published(*cluster.calibration);
  if (own || cluster.nodes != 1 || !is_recorded_on(workload, cluster) ||
      workload.recorded_with.nccl_kernels == 0)
    return cluster;
  const auto log = recorded_log(workload, {cluster.nodes, cluster.gpus_per_node});
  if (!log || (cluster.calibration && log->timed_by != TimedBy::joined_ranks)) return cluster;
  const auto itself = [&](JobShape) { return cluster; };
  try {
    Fit fit = fit_calibration({*log}, itself, {.nccl = tuning.nccl});
    cluster.calibration = std::make_shared<const Calibration>(std::move(fit.calibration));
  } catch (const InputError&) {
    // The bounds prove nothing, or this cluster cannot have these times; reported next to the
    // prediction.
  }
  return cluster;
}

}  // namespace ddpsim
