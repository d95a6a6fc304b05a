#include "ddpsim/calibrate/shapes_left_out.hpp"

#include <algorithm>
#include <memory>

#include "ddpsim/calibrate/health.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

const MeasuredLog* log_of(const std::vector<MeasuredLog>& logs, const FitResidual& row,
                          const Fit& fit) {
  for (const MeasuredLog& log : logs)
    if (log.source == fit.used[row.log] && log.shape() == row.shape) return &log;
  return nullptr;
}

}  // namespace

std::vector<ShapeLeftOut> leave_shapes_out(const std::vector<MeasuredLog>& logs,
                                           const ClusterAt& cluster_at, const FitOptions& options,
                                           const Fit& fit) {
  std::vector<ShapeLeftOut> found;
  for (const FitResidual& row : fit.residuals) {
    const auto same = [&](const ShapeLeftOut& one) { return one.shape == row.shape; };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back({row.shape, {}});
  }
  if (found.size() < 2) return {};
  for (ShapeLeftOut& one : found) {
    std::vector<MeasuredLog> others;
    for (const MeasuredLog& log : logs) {
      const bool used = std::count(fit.used.begin(), fit.used.end(), log.source) > 0;
      if (used && log.shape() != one.shape) others.push_back(log);
    }
    Cluster cluster = cluster_at(one.shape);
    try {
      cluster.calibration = std::make_shared<const Calibration>(
          fit_calibration(others, cluster_at, options).calibration);
    } catch (const InputError&) {  // too few sizes, say: nothing can be learned from the others
      continue;
    }
    for (FitResidual row : fit.residuals) {
      const MeasuredLog* log = row.shape == one.shape ? log_of(logs, row, fit) : nullptr;
      if (log == nullptr) continue;
      row.choice = select_algorithm(CollectiveKind::all_reduce, row.size, cluster,
                                    tuning_of(*log, options.nccl));
      row.calibrated_us =
          cost(CollectiveKind::all_reduce, row.choice, row.size, cluster).microseconds();
      one.residuals.push_back(row);
    }
  }
  std::erase_if(found, [](const ShapeLeftOut& one) { return one.residuals.empty(); });
  return found;
}

}  // namespace ddpsim
