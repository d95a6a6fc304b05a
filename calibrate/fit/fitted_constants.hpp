// The constants of the pipeline cost model as coordinates of a fit: each by the logarithm of its ratio
// to what the uncalibrated cost model says, or, where that says nothing, to what clusters were found to
// have.
#pragma once

#include <span>

#include "ddpsim/sim/values/cost_constants.hpp"

namespace ddpsim {

/// Those with a prior, in the order of the table.
std::span<const CostConstant> fitted_constants();

/// The constants at the coordinates `steps`, one per fitted constant, around `prior`; within what is
/// possible.
PathConstants constants_at(const PathConstants& prior, std::span<const double> steps);

}  // namespace ddpsim
