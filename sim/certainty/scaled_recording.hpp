// A recording with every time multiplied by one factor, including the host's. A measured step
// corrects a recorded one this way, because the profiler slowed the host as well as the GPU.
#pragma once

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Whether the host was recorded on at least one rank. Its work would not scale with the GPU.
bool has_recorded_host(const Workload& workload);

/// The time for which the GPU waited between steps stays unchanged.
Workload scaled_recording(Workload workload, double factor);

}  // namespace ddpsim
