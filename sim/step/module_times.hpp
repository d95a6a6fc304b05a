// When FSDP units run in a step, if the workload shows more than the times of gradients. It may
// contain the times at which forward and backward reach modules, or frozen parameters, which write
// no gradient.
//
// A module that backward does not reach, because nothing in front of it trains, has no hooks there.
//
// If a workload has frozen modules but no times for them, forward is divided by elements of
// parameters, in the order of definition. A frozen module behind one that trains lies in the
// compute of one gradient: the first that is written after those of all modules defined behind it.
// Within that interval, it is again placed by elements.
#pragma once

#include <vector>

#include "units.hpp"

namespace ddpsim {

/// Corrects `spans`, which are derived from gradients only. Returns them unchanged if the workload
/// has neither times of modules nor frozen modules.
std::vector<UnitSpan> by_module_times(const std::vector<Unit>& units, const Recording& recording,
                                      std::vector<UnitSpan> spans);

}  // namespace ddpsim
