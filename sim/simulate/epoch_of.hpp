// An epoch of a job from the step that was simulated.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/data/epoch.hpp"

namespace ddpsim {

/// Absent without a data set, and where the workload does not say its batch. `step`: as simulated, with its host.
std::optional<Epoch> epoch_of(const Job& job, Duration step, std::optional<Duration> host_step,
                              const std::optional<DataSupply>& data);

/// `buckets` in launch order, `step` as simulated.
std::optional<JoinedEpoch> joined_epoch_of(const Job& job, const std::vector<Bucket>& buckets,
                                           Duration step);

}  // namespace ddpsim
