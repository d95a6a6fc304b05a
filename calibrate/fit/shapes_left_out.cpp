#include "ddpsim/calibrate/fit/shapes_left_out.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "ddpsim/calibrate/logs/health.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

const MeasuredLog* log_of(const std::vector<MeasuredLog>& logs, const FitResidual& row,
                          const Fit& fit) {
  for (const MeasuredLog& log : logs)
    if (log.source == fit.used[row.log] && log.shape() == row.shape) return &log;
  return nullptr;
}

/// A calibration from all logs of the fit except those of one shape. Null if too little is left.
std::shared_ptr<const Calibration> fitted_without(JobShape shape,
                                                  const std::vector<MeasuredLog>& logs,
                                                  const ClusterAt& cluster_at,
                                                  const FitOptions& options, const Fit& fit) {
  std::vector<MeasuredLog> others;
  for (const MeasuredLog& log : logs) {
    const bool used = std::count(fit.used.begin(), fit.used.end(), log.source) > 0;
    if (used && log.shape() != shape) others.push_back(log);
  }
  // A published log that repeats the one left out would reproduce it.
  FitOptions without = options;
  without.own = &logs;
  std::shared_ptr<const Calibration> alone = options.published;
  if (!fit.repeated.empty() || !fit.other_release.empty()) alone = nullptr;
  if (others.empty()) return alone;
  try {
    return std::make_shared<const Calibration>(
        fit_calibration(others, cluster_at, without).calibration);
  } catch (const InputError&) {  // for example too few sizes
    return alone;
  }
}

}  // namespace

std::vector<ShapeLeftOut> leave_shapes_out(const std::vector<MeasuredLog>& logs,
                                           const ClusterAt& cluster_at, const FitOptions& options,
                                           const Fit& fit) {
  std::vector<ShapeLeftOut> found;
  for (const FitResidual& row : fit.residuals) {
    const auto same = [&](const ShapeLeftOut& one) { return one.shape == row.shape; };
    if (std::none_of(found.begin(), found.end(), same))
      found.push_back({.shape = row.shape, .residuals = {}});
  }
  std::size_t done = 0;
  for (ShapeLeftOut& one : found) {
    Cluster cluster = cluster_at(one.shape);
    cluster.calibration = fitted_without(one.shape, logs, cluster_at, options, fit);
    one.by_specification = cluster.calibration == nullptr;
    for (FitResidual row : fit.residuals) {
      const MeasuredLog* log = row.shape == one.shape ? log_of(logs, row, fit) : nullptr;
      if (log == nullptr) continue;
      row.choice = select_algorithm(CollectiveKind::all_reduce, row.size, cluster,
                                    tuning_of(*log, options.nccl));
      row.calibrated_us =
          cost(CollectiveKind::all_reduce, row.choice, row.size, cluster).microseconds();
      one.residuals.push_back(row);
    }
    if (options.progress != nullptr) options.progress->go_on(++done, found.size());
  }
  std::erase_if(found, [](const ShapeLeftOut& one) { return one.residuals.empty(); });
  return found;
}

void state_left_out_errors(const std::vector<ShapeLeftOut>& left_out, Calibration& calibration) {
  for (CalibratedShape& log : calibration.shapes)
    for (const ShapeLeftOut& one : left_out)
      if (!log.published && one.shape == JobShape{log.nodes, log.gpus_per_node})
        log.left_out_error = errors_of(one.residuals, kSmallestJudged).median;
}

}  // namespace ddpsim
