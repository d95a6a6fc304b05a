// Sizes in bytes as text for people.
#pragma once

#include <string>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// The exact size, in the largest binary unit that leaves a whole number: "8 B", "25 MiB", "1 GiB".
std::string size_text(Bytes size);

/// The size rounded to three digits, in the largest binary unit in which it is 1 or more: "8 B",
/// "24.4 MiB". Numbers near 1000 and above keep four digits: "1020 KiB".
std::string rounded_size_text(Bytes size);

}  // namespace ddpsim
