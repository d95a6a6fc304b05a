// The recorded step as it were without the host's delays: what a run without the profiler may be.
#pragma once

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Every window as long as the GPU was busy in it, gradients at the same share of backward; copies, collectives and what lies behind
/// backward as they are modelled, between steps waiting for data alone. As `import --timing compacted`, but for the place of each
/// gradient. Ranks that say nothing of it stay as they are.
Workload host_ahead(Workload workload);

/// Between the two: a share of each wait for the host is left, from 0 (as host_ahead()) to 1 (as recorded). What is left is no
/// profiler's: nothing is known of it but that it is there.
Workload host_partly_ahead(Workload workload, double share);

/// Between waiting for batches as recorded (1) and not at all (0).
Workload input_partly_there(Workload workload, double share);

/// The waits for launches gone from forward and backward, as if the host launched each in one go.
Workload launched_at_once(Workload workload);
/// Those of the optimizer.
Workload stepped_at_once(Workload workload);

}  // namespace ddpsim
