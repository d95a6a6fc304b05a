// Whether a recording contains what a replay needs.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/values/ddp_options.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Why a recorded step cannot be replayed under these options: it has no times, or a parameter got
/// no gradient, which would stop DDP.
std::optional<std::string> cannot_replay(const Workload& workload, const DdpOptions& ddp);

}  // namespace ddpsim
