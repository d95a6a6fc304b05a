// Constants of the cost model and the Gaussian process beside them, found together.
//
//   y = log(measured) = log cost(z) + r + e
//   z ~ N(0, deviation^2)  logarithms of constants over the uncalibrated ones
//   r ~ N(0, K)        the correction, K = correction_covariance
//   e                  noise with heavy tails: Student's t, 4 degrees of freedom
// z minimises (y - f)' (K + E)^-1 (y - f) + sum (z / deviation)^2 by Gauss-Newton with Levenberg's
// damping; E is reweighted from the noise it leaves (least squares made robust). The weights of the
// correction are (K + E)^-1 (y - f). What then remains belongs to one shape alone: a second process
// within each shape gives its measurements back, and tells other shapes nothing.
//
// Of another machine of the kind, published, the same z and r; what this machine's times differ by is one
// more process, d ~ N(0, kOtherMachine K), of its own measurements alone:
//   y = log cost(z) + r + d + e
// Predicted is this machine. Where nothing of it was measured near, d is 0 and what is published holds;
// where it was, d takes what the two differ by.
#pragma once

#include <functional>
#include <vector>

#include "ddpsim/sim/values/calibration.hpp"

namespace ddpsim {

struct KrigingProblem {
  PathConstants prior;
  std::vector<OperatingPoint> operating_points;
  std::vector<double> log_measured;
  std::vector<double> noise;    ///< at every operating point, times all_reduce_perf's
  std::vector<bool> published;  ///< at every operating point: of another machine
  /// Logarithm of the cost model's time at every operating point.
  std::function<std::vector<double>(const PathConstants&)> log_modelled;
};

struct KrigingFit {
  PathConstants constants;
  std::vector<double> weights;       ///< per operating point, of this machine's correction
  std::vector<double> within_shape;  ///< per operating point, within its shape
  std::vector<double>
      deviation;  ///< per parameter of the cost model, logarithmic, posterior; 0: not informed
  /// Logarithm of how likely the measurements were (Laplace: the cost model straight around the solution).
  /// Tells which of two cost models of the same measurements is the better one.
  double evidence = 0;
};

KrigingFit solve(const KrigingProblem& problem);

}  // namespace ddpsim
