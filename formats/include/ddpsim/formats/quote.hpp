// Text of unknown origin, made safe to stand inside a one-line message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddpsim {

/// Control characters and broken UTF-8 become '?', more than `longest` bytes end in an ellipsis.
std::string legible(std::string_view text, std::size_t longest = 60);

/// The same in quotes: `"text"`.
std::string in_quotes(std::string_view text, std::size_t longest = 60);

}  // namespace ddpsim
