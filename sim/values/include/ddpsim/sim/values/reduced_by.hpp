// Who made the recorded all-reduces, in words.
#pragma once

#include <string_view>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// "hooks of its own": what called the all-reduces in place of DDP's reducer; empty where it did.
std::string_view caller_of(ReducedBy reduced_by);

}  // namespace ddpsim
