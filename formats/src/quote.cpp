#include "ddpsim/formats/quote.hpp"

#include <algorithm>
#include <cstddef>

#include "code_point.hpp"

namespace ddpsim {
namespace {

bool is_plain(char c) {
  return c >= ' ' && c <= '~';
}

/// Removes the first character from `text` and returns the text to show for it.
std::string_view take_shown(std::string_view& text, std::string_view instead) {
  const CodePoint first = first_code_point(text);
  const std::string_view own = text.substr(0, first.bytes);
  text.remove_prefix(std::max<std::size_t>(first.bytes, 1));
  if (first.value == '\n' || first.value == '\t') return " ";
  return first.bytes > 0 && is_shown(first.value) ? own : instead;
}

/// The style at the front of `text`; empty if there is none.
std::string_view style_at(std::string_view text) {
  for (const std::string_view style : {kBoldStyle, kDimStyle, kPlainStyle})
    if (text.starts_with(style)) return style;
  return {};
}

}  // namespace

std::string printable(std::string_view text, std::string_view instead) {
  if (std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string out;
  while (!text.empty()) out += take_shown(text, instead);
  return out;
}

std::string printable_lines(std::string_view text, Styles styles) {
  const auto stays = [](char c) { return is_plain(c) || c == '\n'; };
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, stays) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::string_view style = styles == Styles::kept ? style_at(text) : std::string_view();
    out += style.empty() ? take_shown(text, "?") : style;
    text.remove_prefix(style.size());
  }
  return out;
}

std::string legible(std::string_view text, std::size_t longest) {
  std::string out;
  while (!text.empty()) {
    const std::string_view shown = take_shown(text, "?");
    if (out.size() + shown.size() > longest) return out + "…";
    out += shown;
  }
  return out;
}

std::string in_quotes(std::string_view text, std::size_t longest) {
  return '"' + legible(text, longest - 1) + '"';
}

}  // namespace ddpsim
