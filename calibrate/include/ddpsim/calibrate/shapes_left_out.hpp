// How well measured shapes are predicted from each other. A fit gives back what it was fitted to, so
// only shapes left out tell what one that nobody measured may miss by.
#pragma once

#include <vector>

#include "ddpsim/calibrate/fit.hpp"

namespace ddpsim {

struct ShapeLeftOut {
  JobShape shape;
  std::vector<FitResidual> residuals;  ///< `calibrated_us`: as the other shapes predict it
};

/// Every shape of `fit` in turn, predicted from its other shapes; without those whose others cannot
/// be fitted. Empty where there is one shape only. `logs`, `cluster_at`, `options`: those of the fit.
std::vector<ShapeLeftOut> leave_shapes_out(const std::vector<MeasuredLog>& logs,
                                           const ClusterAt& cluster_at, const FitOptions& options,
                                           const Fit& fit);

}  // namespace ddpsim
