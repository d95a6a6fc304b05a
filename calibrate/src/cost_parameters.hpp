// The constants of the pipeline cost model as coordinates of a fit: each by the logarithm of its ratio to
// what the uncalibrated cost model says, or, where that says nothing, to what clusters were found to have.
#pragma once

#include <span>
#include <string_view>

#include "ddpsim/sim/calibration.hpp"

namespace ddpsim {

struct CostParameter {
  std::string_view name;   ///< as in the cluster file
  std::string_view which;  ///< "LL", "LL128", "Simple"; empty where there is one only
  double& (*of)(PathConstants&);
  double doubt = 0;  ///< how far clusters of one kind lie apart: a standard deviation, logarithmic
  double least = 0;
  double most = 0;
  double expected = 0;  ///< where the uncalibrated cost model leaves it out; 0: where it does not
  bool logarithm = false;  ///< is one itself: it moves by the step
};

/// In the order of the struct.
std::span<const CostParameter> cost_parameters();

/// `prior` moved by `steps`, one per parameter, within what is possible.
PathConstants moved(const PathConstants& prior, std::span<const double> steps);

}  // namespace ddpsim
