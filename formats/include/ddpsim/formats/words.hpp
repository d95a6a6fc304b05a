// Splits a text into words at blanks and line ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// Views into the text they were taken from.
using Words = std::vector<std::string_view>;

/// Most words of a text, because each takes 16 bytes. The last word then holds the rest of the
/// text.
inline constexpr std::size_t kMostWords = std::size_t{1} << 19;

Words words_of(std::string_view text);

/// Splits at every separator: "a,,b" at ',' gives "a", "", "b". An empty text gives one empty item.
Words split(std::string_view text, char separator);

/// Changes only the letters A to Z.
std::string in_small_letters(std::string_view text);

}  // namespace ddpsim
