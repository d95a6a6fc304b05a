// Reads step times in the lines of a log.
//
//   step_time=0.123 s   'step_time_ms': 123.4   elapsed time per iteration (ms): 527.8   time 561.94ms     a key
//
//   123.4 ms/step   2.34s/it   5.67it/s   0.1234 s / it   369.0 images/s                                    a rate
//
//   step 10/500 | loss 7.0 | 352.10 ms | 45 % MFU                                                           alone in its cell
//
//   {"step": 3, "step_time_ms": 12.5}                                                                       JSON, Python's dictionaries
#pragma once

#include <string_view>

#include "step_readings.hpp"

namespace ddpsim {

/// A carriage return ends a line just as a newline does, because progress bars write it.
void read_step_lines(std::string_view text, StepReadings& found);

}  // namespace ddpsim
