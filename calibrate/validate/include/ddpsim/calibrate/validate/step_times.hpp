// Step times as people already have them: a trainer's state, a column of a table, lines of a log, a result's JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// The message about a text that holds none.
inline constexpr const char* kNoStepTime = "no step time was found in it";

/// What the numbers of a key are, as the user states it: FILE:KEY=UNIT.
struct StepTimeUnit {
  enum class Kind {
    time,           ///< "ms": the time of a step
    rate,           ///< "it/s": steps in a time
    items_of_step,  ///< "256/step": items a second, of which a step has so many
    items  ///< "samples/s", "samples/s/gpu", "samples/s/8gpus": a step has as many as the batch
  };
  Kind kind = Kind::time;
  double unit_s = 1;           ///< seconds in one unit
  double count = 0;            ///< of items_of_step
  std::optional<double> gpus;  ///< of items: whose they are; absent: of all GPUs of the job
};

/// "s", "ms", "it/s", "s/it", "256/step", "samples/s/gpu"; absent where it is none of these.
std::optional<StepTimeUnit> parse_step_time_unit(std::string_view text);
/// What a unit may be, for messages.
inline constexpr const char* kStepTimeUnits =
    "s, ms, us, ns, it/s, s/it, samples/s/gpu, samples/s/8gpus, or 256/step for items a second of "
    "which a step has 256";

/// Which of a text's numbers are asked for, and what is known of the job beside them.
struct StepTimesAsked {
  std::string key;                        ///< a column, a key; empty: the one that is of step times
  std::optional<StepTimeUnit> unit = {};  ///< of that key
  std::optional<double> samples_per_gpu =
      {};  ///< of a step, where only samples a second are stated
  std::optional<double> gpus = {};
};

/// One or more, each above zero.
struct MeasuredSteps {
  std::vector<Duration> steps;  ///< in the order of the file
  std::string
      source;  ///< '12 values of column "step_time_ms"; the first was left out (…)', for people
  std::vector<std::string> warnings = {};  ///< what was taken for granted
};

/// The times in `file`. Units come from names, lines, `asked`, or what a known program writes; never from a guess.
/// Throws InputError.
MeasuredSteps read_step_times(const std::string& file, const StepTimesAsked& asked = {});

/// The same of a text; `file` names it in messages.
MeasuredSteps parse_step_times(std::string_view text, const std::string& file,
                               const StepTimesAsked& asked = {});

}  // namespace ddpsim
