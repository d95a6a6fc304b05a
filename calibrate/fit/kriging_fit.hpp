// Fits the constants of the cost model together with a Gaussian process for its residuals.
//
//   y = log(measured) = log cost(z) + r + e
//   z ~ N(0, deviation^2)  logarithms of constants over the uncalibrated ones
//
//   r ~ N(0, K)        the correction, K = correction_covariance
//   e                  noise with heavy tails: Student's t, 4 degrees of freedom
//
// z minimises (y - f)' (K + E)^-1 (y - f) + sum (z / deviation)^2 by Gauss-Newton with Levenberg's
// damping. E is reweighted from the remaining noise, which makes the least squares robust. The
// weights of the correction are (K + E)^-1 (y - f). What then remains belongs to a single shape. A
// second process within each shape reproduces its measurements and tells other shapes nothing.
//
// Published logs of other machines of the kind share z and r. What distinguishes this machine is a
// further process d ~ N(0, kOtherMachine K), for its own measurements only:
//
//   y = log cost(z) + r + d + e
//
// The prediction is for this machine. Far from its own measurements, d is 0 and the published logs
// decide. Near them, d takes up the difference between the two.
#pragma once

#include <functional>
#include <vector>

#include "ddpsim/sim/values/calibration.hpp"

namespace ddpsim {

struct KrigingProblem {
  PathConstants prior;
  std::vector<OperatingPoint> operating_points;
  std::vector<double> log_measured;
  /// At every operating point, relative to the noise of all_reduce_perf.
  std::vector<double> noise;
  /// At every operating point: whether it is from another machine.
  std::vector<bool> published;
  /// Logarithm of the cost model's time at every operating point.
  std::function<std::vector<double>(const PathConstants&)> log_modelled;
};

struct KrigingFit {
  PathConstants constants;
  /// Per operating point, for the correction of this machine.
  std::vector<double> weights;
  std::vector<double> within_shape;  ///< per operating point, within its shape
  /// Posterior deviation of each constant's logarithm; 0 if the logs say nothing about it.
  std::vector<double> deviation;
  /// Logarithm of the likelihood of the measurements (Laplace: the cost model is linearised around
  /// the solution). It tells which of two cost models explains the same measurements better.
  double evidence = 0;
};

KrigingFit solve(const KrigingProblem& problem);

}  // namespace ddpsim
