// What a scheme asks of a workload and a cluster.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Why the job's scheme cannot be simulated, and what would help; absent when it can.
std::optional<std::string> cannot_schedule(const Job& job);

}  // namespace ddpsim
