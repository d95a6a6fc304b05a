// What the lines of a log say beside a key's numbers, once it is decided which key is the step's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "step_readings.hpp"

namespace ddpsim {

/// Lines that name a key and hold no number behind it: "step_time_ms: nan", "step_time_ms: ~12.5".
struct LinesWithoutNumber {
  std::size_t count = 0;
  std::uint32_t first = 0;  ///< from 1
  std::string shown;        ///< what stands there instead, up to a blank
};

/// Of a key that `read_step_lines` found in the same text. Lines of an evaluation are not counted.
LinesWithoutNumber lines_without_number(std::string_view text, const StepKey& key);

/// How often "iter" goes on while "step" does once, of lines that count both: each reading is of a micro-batch then.
double readings_of_a_step(std::string_view text, const StepKey& key);

}  // namespace ddpsim
