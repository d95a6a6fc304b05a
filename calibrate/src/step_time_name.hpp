// What the name of a column or a key says of its numbers: that they are of steps, and in which unit.
//
//   step_time_ms  "iteration time (s)"  time/step  s/it  elapsed time per iteration (ms)     times
//   steps_per_second  it/s                                                                   rates
//
// A name is its words: those for a step, for time, for a unit, and a few that change nothing ("avg").
// A name with any other word ("data_time_ms", "eval step time") is of something else.
#pragma once

#include <optional>
#include <string_view>

namespace ddpsim {

struct StepTimeName {
  std::optional<double> unit_s;  ///< seconds in one unit; absent: the name has none
  bool rate = false;             ///< steps in one unit of time
};

/// Absent where the name is not that of a step's time.
std::optional<StepTimeName> step_time_name(std::string_view name);

/// The unit alone, of a column that was named by the user, whatever else stands in its name.
StepTimeName unit_in_name(std::string_view name);

/// The same of what stands in front of "=" or ":" in a line: its last words count, numbers among them;
/// the result says where the key begins.
struct KeyInLine {
  StepTimeName name;
  std::string_view text;
};
std::optional<KeyInLine> step_time_key(std::string_view before_separator);

/// "ms", "sec", "µs" in seconds.
std::optional<double> unit_in_seconds(std::string_view word);
/// "it", "step", "batch" …
bool is_step_word(std::string_view word);

}  // namespace ddpsim
