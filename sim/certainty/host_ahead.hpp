// The recorded step without the host's delays: an estimate of a run without the profiler.
#pragma once

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Shortens every window to the time the GPU was busy in it; gradients keep their relative position
/// in backward. Copies, collectives and everything after backward are modelled; between steps the
/// GPU waits only for data. The result is that of `import --timing compacted`, except for the
/// positions of gradients. Ranks without this data stay unchanged.
Workload host_ahead(Workload workload);

/// Keeps a share of each wait for the host, from 0 (as host_ahead()) to 1 (as recorded). A wait
/// that remains is not the profiler's; its cause is unknown.
Workload host_partly_ahead(Workload workload, double share);

/// Keeps a share of the waits for batches, from 0 (none) to 1 (as recorded).
Workload input_partly_there(Workload workload, double share);

/// Removes the waits for launches from forward and backward, as if the host launched each pass at
/// once.
Workload launched_at_once(Workload workload);
/// Removes the waits for launches from the optimizer, as if the host launched it at once.
Workload stepped_at_once(Workload workload);

}  // namespace ddpsim
