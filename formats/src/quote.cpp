#include "ddpsim/formats/quote.hpp"

#include <algorithm>
#include <cstddef>

#include "ddpsim/formats/display_width.hpp"

namespace ddpsim {
namespace {

/// Bytes of the well-formed UTF-8 character at the front of `text`; 0 when it is broken. By hand, because
/// libraries judge a text as a whole and do not say where it may be cut. Overlong forms and surrogates are
/// not worth telling apart here: a terminal shows them as one bad glyph.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (starts_code_point(text[i])) return 0;
  }
  return length;
}

/// C0, DEL, and C1: U+0080 to U+009F, which terminals obey just as well.
bool is_control(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x20 || first == 0x7F) return true;
  return first == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0;
}

}  // namespace

std::string legible(std::string_view text, std::size_t longest) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (out.size() + std::max<std::size_t>(length, 1) > longest) {
      out += "…";
      break;
    }
    if (length == 0 || is_control(text)) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string in_quotes(std::string_view text, std::size_t longest) {
  return '"' + legible(text, longest - 1) + '"';
}

}  // namespace ddpsim
