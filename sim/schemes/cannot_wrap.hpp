// Reasons why a sharded scheme cannot be simulated, common to all of them.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Says why the job's modules cannot be wrapped into these units, or that there are too many units.
std::optional<std::string> cannot_wrap(const Job& job, const WrapPolicy& wrap);
/// Says why the parts of the job's scheme that belong on the host cannot be kept there.
std::optional<std::string> cannot_offload(const Job& job);

}  // namespace ddpsim
