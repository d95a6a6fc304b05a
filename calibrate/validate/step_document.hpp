// Reads step times in JSON and in dictionaries as Python prints them: a result, lines of records,
// transformers' trainer_state.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "step_readings.hpp"

namespace ddpsim {

/// Python's dictionary as JSON: handles quotes, True, None and tuples. NaN, which JSON lacks,
/// becomes null.
std::string as_json(std::string_view text);

/// Reads the numbers of one object of a line. Returns false if it cannot be read.
bool read_step_object(std::string_view text, std::uint32_t line, DecimalMark& mark,
                      StepReadings& found);

/// What a whole document is, apart from the numbers of a key.
struct StepDocument {
  bool is_trainer_state = false;  ///< it has a log_history
  std::string schema;             ///< of a document of ddpsim
  /// Whether the last training run in the document has ended. transformers.Trainer then adds an
  /// entry to log_history, {"step": 500, "train_runtime": 61.3}: the seconds of all steps together
  /// (speed_metrics in trainer_utils.py).
  bool ended = false;
  /// Seconds of the last run that ended.
  double run_s = 0;
  /// The step at which that run began: 0 for a run from the start. Negative: the run was resumed at
  /// an unknown step.
  double begin = 0;
  /// The step at which that run ended. 0: unknown.
  double end = 0;
};

/// Throws InputError if the text is no document.
StepDocument read_step_document(std::string_view text, const std::string& file,
                                StepReadings& found);

}  // namespace ddpsim
