// The recorded step as it were without the host's delays: what a run without the profiler may be.
#pragma once

#include "ddpsim/sim/workload.hpp"

namespace ddpsim {

/// Every window as long as the GPU was busy in it, gradients at the same share of backward; nothing of the host,
/// of collectives that ran, of the time between steps. As `import --timing compacted`, but for the
/// place of each gradient. Ranks that say nothing of it stay as they are.
Workload host_ahead(Workload workload);

}  // namespace ddpsim
