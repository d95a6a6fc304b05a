// Splits a log into lines for the readers of step times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/formats/csv.hpp"

namespace ddpsim {

/// Longest text before a line's number that is searched for an evaluation, a progress bar or a
/// step.
inline constexpr std::size_t kLongestHeading = 1024;

/// Visits a line's parts; a carriage return ends a part just as a newline does. `take` receives the
/// part, the line's number (from 1), and whether the text ends before the line does. It returns
/// whether to go on.
template <typename Take>
void each_part_of_lines(std::string_view text, const Take& take) {
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const bool ended = text.find('\n') != std::string_view::npos;
    std::string_view line = take_line(text);
    while (!line.empty()) {
      const std::size_t end = line.find('\r');
      const bool open = !ended && end == std::string_view::npos;
      if (!take(line.substr(0, end), number, open)) return;
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    }
  }
}

}  // namespace ddpsim
