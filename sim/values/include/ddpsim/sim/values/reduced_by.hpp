// What made the recorded all-reduces, in words.
#pragma once

#include <string_view>

#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// Text for what called the all-reduces instead of DDP's reducer: "hooks of its own". Empty for the
/// reducer.
std::string_view caller_of(ReducedBy reduced_by);

}  // namespace ddpsim
