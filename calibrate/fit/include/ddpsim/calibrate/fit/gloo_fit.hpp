// Fits logs of gloo's all-reduces, timed alone or in the steps of a training. It finds the
// constants of GlooLinks that the logs determine. The others keep their values, and the result says
// so.
//
//   log T = log model(links) + noise      links_i = default_i * exp(x_i), x_i ~ N(0, log 2)
//
// Noise follows Student's t; Gauss-Newton finds the most likely x. A constant counts as determined
// if the logs narrow its deviation to less than kTold of the prior. The others are reset, and the
// rest is fitted once more. Several all-reduces in flight count as one time, from the first arrival
// to the last end, because how two share their links is not a property of a link.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/sim/values/gloo_calibration.hpp"

namespace ddpsim {

/// One or several all-reduces in flight together, as measured and as predicted.
struct GlooResidual {
  std::size_t log = 0;  ///< index into GlooFit::used
  JobShape shape;
  Bytes size;  ///< all of them together
  std::size_t together = 1;
  double measured_us = 0;
  double assumed_us = 0;  ///< with nothing fitted
  double calibrated_us = 0;
  /// Predicted without the times of that size; 0 if nothing would be left to fit.
  double left_out_us = 0;
};

struct GlooFitted {
  const GlooConstant* constant;
  double before = 0;
  double value = 0;
  /// `low` to `high` is the 80 % interval.
  double low = 0;
  double high = 0;
  /// False: the logs do not determine it, so it keeps its value.
  bool told = false;
};

struct GlooShapeLeftOut {
  JobShape shape;
  FitErrors errors;
};

struct GlooFit {
  GlooCalibration calibration;
  std::vector<GlooFitted> constants;  ///< all of them
  std::vector<GlooResidual> residuals;
  std::vector<GlooShapeLeftOut> ranks_left_out;  ///< each predicted from the others
  std::vector<std::string> used;                 ///< sources
  std::vector<LogLeftOut> left_out;
};

bool is_of_gloo(const MeasuredLog& log);

/// Throws InputError if nothing is left to fit or there is only one size, and for a log without a
/// shape or with a GPU that the cluster lacks.
GlooFit fit_gloo(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at);

/// Median and 90th percentile of |predicted / measured - 1|.
FitErrors errors_of(const std::vector<GlooResidual>& residuals,
                    double GlooResidual::*predicted = &GlooResidual::calibrated_us);

}  // namespace ddpsim
