// Where units lie in a step whose workload says more than when gradients are written: of some modules when forward and
// backward come to them, or parameters that are frozen, of which nothing is written at all.
//
// A module that backward does not come to (nothing in front of it trains) has no hooks there. Where a workload has frozen
// modules and no times of them, forward is dealt out by elements of parameters, in the order they are defined; a frozen module
// behind one that trains lies in the stretch of compute up to the first gradient that is written when all defined behind it are,
// by elements again.
#pragma once

#include <vector>

#include "units.hpp"

namespace ddpsim {

/// `spans`, by gradients alone, put right. As they are where the workload has neither times nor frozen modules.
std::vector<UnitSpan> by_module_times(const std::vector<Unit>& units, const Recording& recording,
                                      std::vector<UnitSpan> spans);

}  // namespace ddpsim
