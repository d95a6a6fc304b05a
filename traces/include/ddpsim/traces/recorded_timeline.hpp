// A recorded step drawn as a timeline, to be laid beside a simulated one.
#pragma once

#include "ddpsim/sim/values/timeline.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Windows of compute and the reducer's all-reduces of every rank, under the names a simulated step has them; zero is
/// the start of the representative rank's forward. One rank alone is drawn as rank 0.
Timeline recorded_timeline(const Workload& workload);

}  // namespace ddpsim
