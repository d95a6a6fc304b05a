// How well measured scales are predicted from each other. A fit gives back what it was fitted to, so
// only scales left out tell what one that nobody measured may miss by.
#pragma once

#include <vector>

#include "ddpsim/calibrate/fit.hpp"

namespace ddpsim {

struct ScaleLeftOut {
  Scale scale;
  std::vector<FitResidual> residuals;  ///< `calibrated_us`: as the other scales predict it
};

/// Every scale of `fit` in turn, predicted from its other scales; without those whose others cannot
/// be fitted. Empty where there is one scale only. `logs`, `cluster_at`, `options`: those of the fit.
std::vector<ScaleLeftOut> leave_scales_out(const std::vector<MeasuredLog>& logs,
                                           const ClusterAt& cluster_at, const FitOptions& options,
                                           const Fit& fit);

}  // namespace ddpsim
