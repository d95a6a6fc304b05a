// What keeps a sharded scheme from being simulated, whichever it is.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Why these units cannot be, or are too many.
std::optional<std::string> cannot_wrap(const Job& job, const WrapPolicy& wrap);
/// Why what the job's scheme keeps on the host cannot be kept there.
std::optional<std::string> cannot_offload(const Job& job);

}  // namespace ddpsim
