// Names of error sources in sentences and in JSON.
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/certainty/confidence.hpp"

namespace ddpsim {

/// "fixed cost of collectives"
std::string_view phrase_of(ErrorSource source);
/// "fixed_cost"
std::string_view name_of(ErrorSource source);

/// In the order of the enumeration.
std::vector<ErrorSource> all_error_sources();

}  // namespace ddpsim
