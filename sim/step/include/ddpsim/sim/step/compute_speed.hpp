// How fast GPUs compute beside the recording.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// What compute of several GPUs takes beyond what was recorded.
SlowdownShares slowdown_shares(const Job& job);

/// Speed of the cluster's compute relative to the recording's: compute scale and multi-GPU slowdown together.
double compute_speed(const Job& job);

}  // namespace ddpsim
