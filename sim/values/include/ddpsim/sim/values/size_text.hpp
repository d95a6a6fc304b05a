// Sizes as people read them.
#pragma once

#include <string>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// "8 B", "25 MiB", "1 GiB": exactly, in the largest binary unit that leaves a whole number.
std::string size_text(Bytes size);

/// "8 B", "24.4 MiB", "1020 KiB": to three digits, or the four of a number near 1000 and above, in
/// the largest binary unit it fills.
std::string rounded_size_text(Bytes size);

}  // namespace ddpsim
