// Step times as people already have them: a trainer's state, a column of a table, lines of a log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/units.hpp"

namespace ddpsim {

/// The message about a text that holds none.
inline constexpr const char* kNoStepTime = "no step time was found in it";

/// One or more, each above zero.
struct MeasuredSteps {
  std::vector<Duration> steps;  ///< in the order of the file
  std::string source;  ///< 'column "step_time_ms"; the first was left out (…)', for people
};

/// The times in `file`: of `column` where it is a table (empty: the one column that is of step times).
/// Units come from names and lines, never from a guess. Throws InputError.
MeasuredSteps read_step_times(const std::string& file, const std::string& column);

/// The same of a text; `file` names it in messages.
MeasuredSteps parse_step_times(std::string_view text, const std::string& file,
                               const std::string& column);

}  // namespace ddpsim
