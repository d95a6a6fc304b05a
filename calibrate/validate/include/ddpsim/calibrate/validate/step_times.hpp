// Reads step times in the forms that people have: a trainer's state, a column of a table, lines of
// a log, a result's JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// The message for a text without step times.
inline constexpr const char* kNoStepTime = "no step time was found in it";

/// The meaning of a key's numbers as the user states it: FILE:KEY=UNIT.
struct StepTimeUnit {
  enum class Kind {
    time,  ///< "ms": the time of a step
    rate,  ///< "it/s": steps in a time
    /// "256/step": items per second, with this many items in a step.
    items_of_step,
    /// "samples/s", "samples/s/gpu", "samples/s/8gpus": a step has as many items as the batch.
    items
  };
  Kind kind = Kind::time;
  double unit_s = 1;  ///< seconds in one unit
  double count = 0;   ///< of items_of_step
  /// Number of GPUs that the items belong to. Absent: all GPUs of the job.
  std::optional<double> gpus;
};

/// Parses "s", "ms", "it/s", "s/it", "256/step", "samples/s/gpu". Absent if it is none of these.
std::optional<StepTimeUnit> parse_step_time_unit(std::string_view text);
/// Possible units, for messages.
inline constexpr const char* kStepTimeUnits =
    "s, ms, us, ns, it/s, s/it, samples/s/gpu, samples/s/8gpus, or 256/step for items per second "
    "with 256 items in a step";

/// Which of a text's numbers are wanted, and what is known about the job.
struct StepTimesAsked {
  /// A column or a key. Empty: the one that has step times.
  std::string key;
  std::optional<StepTimeUnit> unit = {};  ///< of that key
  /// Samples in a step, used if a text states only samples per second.
  std::optional<double> samples_per_gpu = {};
  std::optional<double> gpus = {};
};

/// One or more steps, each above zero.
struct MeasuredSteps {
  std::vector<Duration> steps;  ///< in the order of the file
  /// Where they come from, for people: '12 values of column "step_time_ms"; the first was left out
  /// (…)'.
  std::string source;
  std::vector<std::string> warnings = {};  ///< assumptions
};

/// The times in `file`. Units come from names, lines, `asked` or the known output of a program,
/// never from a guess. Throws InputError.
MeasuredSteps read_step_times(const std::string& file, const StepTimesAsked& asked = {});

/// The step times in a text, read like a file. `file` is the name in messages.
MeasuredSteps parse_step_times(std::string_view text, const std::string& file,
                               const StepTimesAsked& asked = {});

}  // namespace ddpsim
