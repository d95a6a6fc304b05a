// Sizes as people read them.
#pragma once

#include <string>

#include "ddpsim/sim/units.hpp"

namespace ddpsim {

/// "8 B", "25 MiB", "1 GiB": in the largest binary unit that leaves a whole number.
std::string size_text(Bytes size);

}  // namespace ddpsim
