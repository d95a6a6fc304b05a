// What is typed where a step time is taken: --measured-step, OLD and NEW of `diff`, MEASURED of `validate`.
//
//   104ms   9.6it/s   FILE   FILE:KEY   FILE:KEY=UNIT
#pragma once

#include <optional>
#include <string>

#include "ddpsim/calibrate/validate/step_times.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// A file of step times, and which of its numbers are asked for.
struct StepFile {
  std::string name;
  StepTimesAsked asked;
};

struct StepArgument {
  std::optional<Duration> time;  ///< a time or a rate
  std::optional<StepFile> file;
  std::string problem;  ///< why it is neither
};

/// Longer ones are of another unit; sums of so many days still fit into 63 bits of picoseconds.
inline constexpr Duration kLongestStep = Duration::seconds(86400);
/// The step of a file of step times; absent where no step takes so long, or none so short.
inline std::optional<Duration> step_of_seconds(double seconds) {
  if (!(seconds > 0) || !(seconds <= kLongestStep.seconds())) return std::nullopt;
  const Duration step = Duration::seconds(seconds);
  return step > Duration() ? std::optional(step) : std::nullopt;
}

/// KEY or KEY=UNIT; `text`: all that was typed, for messages. Throws InputError.
StepTimesAsked parse_step_times_asked(const std::string& text, const std::string& key);

/// Throws InputError where there is such a file, and what follows its name is no unit.
StepArgument parse_step_argument(const std::string& text);

}  // namespace ddpsim
