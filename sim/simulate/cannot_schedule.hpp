// What a scheme requires of a workload and a cluster.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Says why the job's scheme cannot be simulated, and what would help. Absent if it can.
std::optional<std::string> cannot_schedule(const Job& job);

}  // namespace ddpsim
