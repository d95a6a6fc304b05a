// Whether a recording holds what a replay needs.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Why a recorded step cannot be replayed under these options: no timing, or a parameter without a gradient, at which DDP
/// would stop.
std::optional<std::string> cannot_replay(const Workload& workload, const DdpOptions& ddp);

}  // namespace ddpsim
