// Decodes characters of UTF-8 text, and decides which of them may be shown.
#pragma once

#include <cstddef>
#include <string_view>

namespace ddpsim {

struct CodePoint {
  char32_t value = 0;
  /// 0: the text does not begin with well-formed UTF-8.
  std::size_t bytes = 0;
};

/// The first character of `text`, which must not be empty. Overlong forms, surrogates and values
/// above U+10FFFF are not UTF-8. Written by hand, because libraries check only whole texts.
CodePoint first_code_point(std::string_view text);

/// Whether a character may be shown. False for characters that a terminal obeys, that change the
/// direction of writing or end a line, and for invalid ones.
/// They are C0, DEL, C1, U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069, U+FFFE, U+FFFF
/// and similar ones.
bool is_shown(char32_t character);

}  // namespace ddpsim
