// Words of a text, whatever blanks and line ends lie between them.
#pragma once

#include <string_view>
#include <vector>

namespace ddpsim {

/// Views into the text they were taken from.
using Words = std::vector<std::string_view>;

Words words_of(std::string_view text);

}  // namespace ddpsim
