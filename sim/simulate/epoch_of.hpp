// Computes a job's epoch from the simulated step.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/data/epoch.hpp"

namespace ddpsim {

/// Absent without a data set, or if the workload does not give its batch. `step` is as simulated,
/// with its host.
std::optional<Epoch> epoch_of(const Job& job, Duration step, std::optional<Duration> host_step,
                              const std::optional<DataSupply>& data);

/// `buckets` are in launch order. `step` is as simulated.
std::optional<JoinedEpoch> joined_epoch_of(const Job& job, const std::vector<Bucket>& buckets,
                                           Duration step);

}  // namespace ddpsim
