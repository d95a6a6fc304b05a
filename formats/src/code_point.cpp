#include "code_point.hpp"

namespace ddpsim {

CodePoint first_code_point(std::string_view text) {
  constexpr CodePoint kNone{0, 0};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return kNone;
  char32_t value = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return kNone;
    value = value << 6U | (byte(i) & 0x3FU);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kLeast[bytes] || surrogate || value > 0x10FFFF) return kNone;
  return {value, bytes};
}

bool is_shown(char32_t character) {
  const auto between = [character](char32_t first, char32_t last) {
    return character >= first && character <= last;
  };
  const bool control = character < 0x20 || between(0x7F, 0x9F);
  const bool turns = character == 0x061C || between(0x200E, 0x200F) || between(0x202A, 0x202E) ||
                     between(0x2066, 0x2069);
  const bool ends_line = between(0x2028, 0x2029);
  const bool no_character = (character & 0xFFFEU) == 0xFFFE;
  return !control && !turns && !ends_line && !no_character;
}

}  // namespace ddpsim
