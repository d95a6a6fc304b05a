// The lines of a log, as those who read step times in them go through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/formats/csv.hpp"

namespace ddpsim {

/// In front of a line that may be an evaluation's, a bar's, a step's: what is behind is not looked at.
inline constexpr std::size_t kLongestHeading = 1024;

/// A line's parts: a carriage return ends one as a newline does. `take` is told the line's number, from 1, and whether the text
/// ends before the line does; it returns whether to go on.
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
