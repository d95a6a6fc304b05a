// Width of UTF-8 text on a terminal. Each code point takes one column.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ddpsim {

inline bool starts_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

inline std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_code_point));
}

}  // namespace ddpsim
