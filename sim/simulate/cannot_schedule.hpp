// Checks whether a parallelism scheme can be simulated with a workload and a cluster.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// If the job's parallelism scheme (--scheme: DDP, FSDP2, ZeRO-2, …) cannot be simulated, says why,
/// and what to change. Absent if it can be simulated.
std::optional<std::string> cannot_schedule(const Job& job);

}  // namespace ddpsim
