// Fits one or many logs of one cluster, with any numbers of nodes and GPUs. The result is the
// physical constants of the pipeline cost model, and a correction for what they leave of the
// measurements.
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

/// The cluster at another size. Throws InputError if it does not have that size.
using ClusterAt = std::function<Cluster(JobShape)>;

struct FittedConstant {
  const CostConstant* constant;
  double before = 0;  ///< in the uncalibrated cost model
  double value = 0;
  /// `low` to `high` is the 80 % interval.
  double low = 0;
  double high = 0;
};

struct FitResidual {
  std::size_t log = 0;  ///< index into Fit::used
  JobShape shape;
  Bytes size;
  CollectiveChoice choice;
  double measured_us = 0;
  double modelled_us = 0;    ///< from fitted constants alone
  double calibrated_us = 0;  ///< with the correction, as in predictions
};

struct LogLeftOut {
  std::string source;
  std::string reason;
};

struct Fit {
  Calibration calibration;
  std::vector<FittedConstant> constants;  ///< those about which the logs say something
  std::vector<FitResidual> residuals;     ///< by log, then size
  std::vector<std::string> used;          ///< sources of the logs used
  std::vector<LogLeftOut> left_out;
  /// Where measurement and cost model differ by 25 % or more.
  std::vector<std::string> model_misses;
  /// Published logs left out because the given logs repeat them.
  std::vector<std::string> repeated;
  /// Published logs left out because they are of another NCCL release than the given logs: see
  /// `is_outdone`.
  std::vector<std::string> other_release;
  std::vector<std::string> notes;
};

struct FitOptions {
  NcclVersion nccl;  ///< for logs that print no version
  /// The user stated `nccl`, so logs without a version certainly have it.
  bool nccl_stated = false;
  bool keep_unhealthy = false;  ///< also fit logs that `health` distrusts
  /// What others measured on machines of the same kind; fitted together with the given logs.
  std::shared_ptr<const Calibration> published = nullptr;
  /// All logs of this machine, if some are not fitted. They decide which published logs are left
  /// out.
  const std::vector<MeasuredLog>* own = nullptr;
  /// Receives the number of job shapes left out so far; it cannot stop them.
  Progress* progress = nullptr;
};

/// Throws InputError if nothing is left to fit, there are too few points or only one size, or logs
/// contradict each other. The same holds for times or sizes in other units, and for a log without a
/// shape.
Fit fit_calibration(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at,
                    const FitOptions& options);

/// The smallest size by which a fit is judged; below it there is only latency.
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
