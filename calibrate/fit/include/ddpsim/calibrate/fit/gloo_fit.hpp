// Logs of gloo's all-reduces, timed alone or in the steps of a training, fitted together: the figures of GlooLinks that
// they tell. What they say nothing of stays as it is, and that is said.
//
//   log T = log model(links) + noise      links_i = default_i * exp(x_i), x_i ~ N(0, log 2)
//
// Noise is Student's t; the most likely x by Gauss and Newton. A figure counts as told where the logs narrow it to
// less than kTold of what was believed before; the others are set back, and the rest is fitted once more. Several
// all-reduces in flight are one time, from the first arrival to the last end: how two share their links is not what a
// link can do.
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
  Bytes size;  ///< of all
  std::size_t together = 1;
  double measured_us = 0;
  double assumed_us = 0;  ///< nothing fitted
  double calibrated_us = 0;
  double left_out_us = 0;  ///< without times of that size; 0: that leaves nothing to fit
};

struct GlooFitted {
  const GlooConstant* constant;
  double before = 0;
  double value = 0;
  double low = 0;     ///< four in five chances that it lies between …
  double high = 0;    ///< … these
  bool told = false;  ///< false: the logs do not tell, it is assumed as before
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

/// Throws InputError: nothing left to fit, one size only, a shape that the log does not say, a GPU the cluster has not.
GlooFit fit_gloo(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at);

/// Median and 90th percentile of |predicted / measured - 1|.
FitErrors errors_of(const std::vector<GlooResidual>& residuals,
                    double GlooResidual::*predicted = &GlooResidual::calibrated_us);

}  // namespace ddpsim
