// What the lines of a log say next to a key's numbers, once that key is known to be the step's
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "step_readings.hpp"

namespace ddpsim {

/// Lines that name a key but have no number after it: "step_time_ms: nan", "step_time_ms: ~12.5".
struct LinesWithoutNumber {
  std::size_t count = 0;
  std::uint32_t first = 0;  ///< from 1
  std::string shown;        ///< the text instead, up to a blank
};

/// For a key that `read_step_lines` found in the same text. Lines of an evaluation do not count.
LinesWithoutNumber lines_without_number(std::string_view text, const StepKey& key);

/// How often "iter" advances for each "step", in lines that count both. Each reading is then of a
/// micro-batch.
double readings_of_a_step(std::string_view text, const StepKey& key);

}  // namespace ddpsim
