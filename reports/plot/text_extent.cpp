#include "text_extent.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "ddpsim/formats/display_width.hpp"

namespace ddpsim::plot {
namespace {

constexpr unsigned char kFirst = ' ';
/// Widths of ASCII characters from the space on, in hundredths of an em, rounded up: DejaVu Sans 2.37.
constexpr std::array<std::uint8_t, 95> kWidths = {
    32, 41, 46, 84, 64, 96, 78, 28, 40,  40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79,
    61, 79, 70, 64, 62, 74, 69, 99, 69,  62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64,
    64, 28, 28, 58, 28, 98, 64, 62, 64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84};
constexpr double kHundredths = 100;
/// Any other character, taken to be as wide as high.
constexpr double kOther = 1;
/// Thin space and middle dot.
constexpr double kThin = 0.32;
/// Bold characters are at most this many times as wide, but for J.
constexpr double kBolder = 1.2;
constexpr std::string_view kEllipsis = "…";

std::size_t next_character(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && !starts_code_point(text[at])) ++at;
  return at;
}

double width_of_character(std::string_view character) {
  // Characters before the space wrap around to large numbers, beyond the table.
  const std::size_t place = static_cast<unsigned char>(character.front()) - std::size_t{kFirst};
  if (character.size() == 1 && place < kWidths.size()) return kWidths[place] / kHundredths;
  return character == "\u2009" || character == "·" ? kThin : kOther;
}

/// The longest beginning that fits.
std::string_view front_within(std::string_view text, double width, Font font) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t next = next_character(text, end);
    if (text_width(text.substr(0, next), font) > width) break;
    end = next;
  }
  return text.substr(0, end);
}

std::string_view back_within(std::string_view text, double width, Font font) {
  std::size_t begin = text.size();
  while (begin > 0) {
    std::size_t before = begin - 1;
    while (before > 0 && !starts_code_point(text[before])) --before;
    if (text_width(text.substr(before), font) > width) break;
    begin = before;
  }
  return text.substr(begin);
}

/// The last space within or just behind the first `most` characters at which a line may end; 0: none. A percent sign stays
/// with its number.
std::size_t break_in(std::string_view text, std::size_t most) {
  for (std::size_t at = most; at > 0; --at)
    if (text[at] == ' ' && !text.substr(at).starts_with(" %")) return at;
  return 0;
}

}  // namespace

double text_width(std::string_view text, Font font) {
  double ems = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = next_character(text, at);
    ems += width_of_character(text.substr(at, next - at));
    at = next;
  }
  return ems * font.size * (font.bold ? kBolder : 1);
}

std::string fitted(std::string_view text, double width, Font font) {
  if (text_width(text, font) <= width) return std::string(text);
  const double room = width - text_width(kEllipsis, font);
  if (room <= 0) return "";
  const std::string_view head = front_within(text, room / 2, font);
  std::string result(head);
  result += kEllipsis;
  return result += back_within(text.substr(head.size()), room - text_width(head, font), font);
}

std::vector<std::string> fitted_lines(std::string_view text, double width, Font font,
                                      std::size_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    if (lines.size() + 1 == most || text_width(text, font) <= width) {
      lines.push_back(fitted(text, width, font));
      break;
    }
    std::string_view line = front_within(text, width, font);
    if (line.empty()) line = text.substr(0, next_character(text, 0));
    if (const std::size_t space = break_in(text, line.size())) line = line.substr(0, space);
    lines.emplace_back(line);
    text.remove_prefix(line.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return lines;
}

}  // namespace ddpsim::plot
