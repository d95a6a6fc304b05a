// Words of a text, whatever blanks and line ends lie between them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// Views into the text they were taken from.
using Words = std::vector<std::string_view>;

/// At most so many, since each takes 16 bytes, whatever the text is: the last one is then the rest of the text.
inline constexpr std::size_t kMostWords = std::size_t{1} << 19;

Words words_of(std::string_view text);

/// "a,,b" at ',' -> "a", "", "b"; an empty text is one empty item.
Words split(std::string_view text, char separator);

/// A to Z alone.
std::string in_small_letters(std::string_view text);

}  // namespace ddpsim
