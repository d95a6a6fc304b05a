// Pieces of JSON text, written so that the same value always gives the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/sim/units.hpp"

namespace ddpsim {

/// In quotes and escaped; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

/// Microseconds with as many decimals as the picoseconds need, at most six: 76.1
std::string json_microseconds(Duration duration);

}  // namespace ddpsim
