// The constants of the pipeline cost model as coordinates of a fit. Each coordinate is the
// logarithm of a constant's ratio to the uncalibrated cost model. If that model has no value, the
// ratio is to the values found for other clusters.
#pragma once

#include <span>

#include "ddpsim/sim/values/cost_constants.hpp"

namespace ddpsim {

/// The constants with a prior, in the order of the table.
std::span<const CostConstant> fitted_constants();

/// The constants around `prior` at the coordinates `steps`, one per fitted constant, limited to
/// possible values.
PathConstants constants_at(const PathConstants& prior, std::span<const double> steps);

}  // namespace ddpsim
