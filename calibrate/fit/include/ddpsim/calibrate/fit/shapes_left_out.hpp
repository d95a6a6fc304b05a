// How well measured shapes are predicted from each other. A fit reproduces what it was fitted to.
// So only shapes that were left out show how wrong the prediction for an unmeasured shape may be.
#pragma once

#include <vector>

#include "ddpsim/calibrate/fit/fit.hpp"

namespace ddpsim {

struct ShapeLeftOut {
  JobShape shape;
  /// No other shape can be fitted, so the cost model alone predicts this one.
  bool by_specification = false;
  /// `calibrated_us` is the prediction without the shape's own logs.
  std::vector<FitResidual> residuals;
};

/// Predicts every shape of `fit` from its other shapes. `logs`, `cluster_at` and `options` are
/// those of the fit.
std::vector<ShapeLeftOut> leave_shapes_out(const std::vector<MeasuredLog>& logs,
                                           const ClusterAt& cluster_at, const FitOptions& options,
                                           const Fit& fit);

/// Writes each shape's median error into its logs.
void state_left_out_errors(const std::vector<ShapeLeftOut>& left_out, Calibration& calibration);

}  // namespace ddpsim
