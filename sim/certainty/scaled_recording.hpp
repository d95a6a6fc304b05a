// A recording whose every time is longer or shorter by one factor, its host's included: what a measured step says of a
// recorded one, which the profiler slowed on the host as on the GPU.
#pragma once

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// On one rank at least the host was recorded: what it does would not scale with the GPU.
bool has_recorded_host(const Workload& workload);

/// What kept the GPU waiting between steps stays as long.
Workload scaled_recording(Workload workload, double factor);

}  // namespace ddpsim
