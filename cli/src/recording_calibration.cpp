#include "recording_calibration.hpp"

#include <memory>

#include "ddpsim/calibrate/fit.hpp"
#include "ddpsim/calibrate/health.hpp"
#include "ddpsim/calibrate/recorded_log.hpp"
#include "ddpsim/sim/recorded_today.hpp"

namespace ddpsim {

Cluster calibrated_by_recording(Cluster cluster, const Workload& workload,
                                const CollectiveTuning& tuning) {
  if (cluster.calibration || cluster.nodes != 1 || !is_recorded_on(workload, cluster))
    return cluster;
  const auto log = recorded_log(workload, {cluster.nodes, cluster.gpus_per_node});
  if (!log) return cluster;
  if (log->timed_by == TimedBy::one_rank && slower_than_bounds(*log, cluster, tuning).empty())
    return cluster;
  const auto itself = [&](JobShape) { return cluster; };
  Fit fit = fit_calibration({*log}, itself, {.nccl = tuning.nccl, .keep_unhealthy = true});
  cluster.calibration = std::make_shared<const Calibration>(std::move(fit.calibration));
  return cluster;
}

}  // namespace ddpsim
