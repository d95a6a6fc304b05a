// How well measured shapes are predicted from each other. A fit gives back what it was fitted to, so
// only shapes left out tell what one that nobody measured may miss by.
#pragma once

#include <vector>

#include "ddpsim/calibrate/fit/fit.hpp"

namespace ddpsim {

struct ShapeLeftOut {
  JobShape shape;
  bool by_specification =
      false;  ///< no other shape can be fitted: the cost model alone predicts it
  std::vector<FitResidual> residuals;  ///< `calibrated_us`: as it is predicted without its logs
};

/// Every shape of `fit` in turn, predicted from its other shapes. `logs`, `cluster_at`, `options`: those of the fit.
std::vector<ShapeLeftOut> leave_shapes_out(const std::vector<MeasuredLog>& logs,
                                           const ClusterAt& cluster_at, const FitOptions& options,
                                           const Fit& fit);

/// Writes each shape's median error into its logs.
void state_left_out_errors(const std::vector<ShapeLeftOut>& left_out, Calibration& calibration);

}  // namespace ddpsim
