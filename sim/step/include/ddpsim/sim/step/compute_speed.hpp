// How fast GPUs compute compared with the recording.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// How much longer compute takes on several GPUs than recorded.
SlowdownShares slowdown_shares(const Job& job);

/// Speed of the cluster's compute relative to the recording's: the compute scale divided by the
/// slowdown on several GPUs.
double compute_speed(const Job& job);

}  // namespace ddpsim
