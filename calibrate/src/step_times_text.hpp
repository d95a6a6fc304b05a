// Step times in the lines of a log.
//
//   step_time=0.123 s   'step_time_ms': 123.4   elapsed time per iteration (ms): 527.8   a key
//   123.4 ms/step   2.34s/it   5.67it/s                                                 a rate
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// One number of a log that is of a step.
struct LoggedStep {
  double seconds = 0;      ///< not checked; NaN where the number has no unit
  std::uint32_t line = 0;  ///< from 1
  std::uint32_t key = 0;   ///< index into LoggedSteps::keys
};

/// Step times of one run that are read; a log or table of more is refused.
inline constexpr std::size_t kMostSteps = 1'000'000;
inline constexpr std::size_t kMostStepKeys = 64;

struct LoggedSteps {
  std::vector<std::string> keys;  ///< "step_time", "it/s", each once
  std::vector<LoggedStep> steps;  ///< in the order of the file
  bool too_many =
      false;  ///< more than kMostSteps, or of more than kMostStepKeys keys: not all are here
};

/// A carriage return ends a line as a newline does: progress bars write it.
LoggedSteps logged_steps(std::string_view text);

}  // namespace ddpsim
