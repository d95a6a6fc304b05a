// One or many logs of one cluster, at any numbers of nodes and GPUs, fitted together: physical
// constants of the pipeline cost model, and what is left of the measurements beside them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/cost_constants.hpp"
#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

/// The cluster at another size. Throws InputError where it has none such.
using ClusterAt = std::function<Cluster(JobShape)>;

struct FittedConstant {
  const CostConstant* constant;
  double before = 0;  ///< of the uncalibrated cost model
  double value = 0;
  double low = 0;   ///< four in five chances that it lies between …
  double high = 0;  ///< … these
};

struct FitResidual {
  std::size_t log = 0;  ///< index into Fit::used
  JobShape shape;
  Bytes size;
  CollectiveChoice choice;
  double measured_us = 0;
  double modelled_us = 0;    ///< fitted constants alone
  double calibrated_us = 0;  ///< with the correction, as predictions will be
};

struct LogLeftOut {
  std::string source;
  std::string reason;
};

struct Fit {
  Calibration calibration;
  std::vector<FittedConstant> constants;  ///< those the logs say something about
  std::vector<FitResidual> residuals;     ///< by log, then size
  std::vector<std::string> used;          ///< sources, of those given
  std::vector<LogLeftOut> left_out;
  std::vector<std::string>
      model_misses;  ///< where measurement and cost model differ by a quarter and more
  std::vector<std::string> repeated;  ///< published logs, left out since those given are the same
  /// Published logs of another release of NCCL than those given, left out: see `is_outdone`.
  std::vector<std::string> other_release;
  std::vector<std::string> notes;
};

struct FitOptions {
  NcclVersion nccl;             ///< where a log prints none
  bool nccl_stated = false;     ///< such logs are of `nccl` for certain: the user says so
  bool keep_unhealthy = false;  ///< fit logs that `health` distrusts as well
  /// What others measured on a machine of the same kind: fitted beside the logs given.
  std::shared_ptr<const Calibration> published = nullptr;
  /// All logs of this machine, where some are not fitted: which published logs are left out is told by them.
  const std::vector<MeasuredLog>* own = nullptr;
  Progress* progress = nullptr;  ///< told of the job shapes left out in turn; it cannot stop them
};

/// Throws InputError: nothing left to fit, too few points, one size only, logs that contradict each
/// other, times or sizes in other units, a shape that the log does not say.
Fit fit_calibration(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at,
                    const FitOptions& options);

/// From this size on a fit is judged: what lies below is latency alone.
inline constexpr Bytes kSmallestJudged{1 << 10};

/// Median and 90th percentile of |calibrated / measured - 1| and |modelled / measured - 1| over sizes.
struct FitErrors {
  double median = 0;
  double p90 = 0;
  std::size_t sizes = 0;
};
FitErrors errors_of(const std::vector<FitResidual>& residuals, Bytes from,
                    bool model_alone = false);

}  // namespace ddpsim
