// A recorded step as a timeline, for comparison with a simulated one.
#pragma once

#include "ddpsim/sim/values/timeline.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Compute windows and the reducer's all-reduces of every rank, with the same names as in a
/// simulated step. Time zero is the start of the representative rank's forward. A single rank is
/// drawn as rank 0.
Timeline recorded_timeline(const Workload& workload);

}  // namespace ddpsim
