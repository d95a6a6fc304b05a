// Step times in the lines of a log.
//
//   step_time=0.123 s   'step_time_ms': 123.4   elapsed time per iteration (ms): 527.8   a key
//   123.4 ms/step   2.34s/it   5.67it/s                                                 a rate
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// One number of a log that is of a step.
struct LoggedStep {
  std::string key;       ///< "step_time", "it/s"
  double seconds = 0;    ///< not checked; NaN where the number has no unit
  std::size_t line = 0;  ///< from 1
};

/// All of them, in the order of the file. A carriage return ends a line as a newline does: progress bars
/// write it.
std::vector<LoggedStep> logged_steps(std::string_view text);

}  // namespace ddpsim
