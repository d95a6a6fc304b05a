// Text of unknown origin, made safe to stand inside a one-line message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddpsim {

/// `"text"`: control characters and broken UTF-8 become '?', more than `longest`
/// bytes end in an ellipsis.
std::string in_quotes(std::string_view text, std::size_t longest = 60);

}  // namespace ddpsim
