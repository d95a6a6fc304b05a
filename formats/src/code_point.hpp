// Characters of UTF-8 text, and which of them may be shown to a person.
#pragma once

#include <cstddef>
#include <string_view>

namespace ddpsim {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  ///< 0: the text does not begin with well-formed UTF-8
};

/// The first character of `text`, which is not empty. Overlong forms, surrogates and values above U+10FFFF are not UTF-8.
/// Written by hand, because libraries judge a text as a whole.
CodePoint first_code_point(std::string_view text);

/// False for what a terminal obeys, what turns the direction of writing, what ends a line elsewhere, and what is no character:
/// C0, DEL, C1, U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069, U+FFFE, U+FFFF and their like.
bool is_shown(char32_t character);

}  // namespace ddpsim
