// What a user can type as a step time: for --measured-step, OLD and NEW of `diff`, and MEASURED of
// `validate`.
//
//   104ms   9.6it/s   FILE   FILE:KEY   FILE:KEY=UNIT
#pragma once

#include <optional>
#include <string>

#include "ddpsim/calibrate/validate/step_times.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// A file of step times, and which of its numbers are wanted.
struct StepFile {
  std::string name;
  StepTimesAsked asked;
};

struct StepArgument {
  std::optional<Duration> time;  ///< a time or a rate
  std::optional<StepFile> file;
  std::string problem;  ///< why it is neither
};

/// Longer steps must have another unit. Sums over as many days still fit into 63 bits of
/// picoseconds.
inline constexpr Duration kLongestStep = Duration::seconds(86400);
/// A step from a file of step times. Absent if it is impossibly long or short.
inline std::optional<Duration> step_of_seconds(double seconds) {
  if (!(seconds > 0) || !(seconds <= kLongestStep.seconds())) return std::nullopt;
  const Duration step = Duration::seconds(seconds);
  return step > Duration() ? std::optional(step) : std::nullopt;
}

/// Parses KEY or KEY=UNIT. `text` is everything that was typed, for messages. Throws InputError.
StepTimesAsked parse_step_times_asked(const std::string& text, const std::string& key);

/// Throws InputError if the file exists but the text after its name is no unit.
StepArgument parse_step_argument(const std::string& text);

}  // namespace ddpsim
