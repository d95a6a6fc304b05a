// Step times in JSON, and in dictionaries as Python prints them: a result, lines of records, transformers' trainer_state.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "step_readings.hpp"

namespace ddpsim {

/// Python's dictionary as JSON: quotes, True, None and tuples; NaN, which JSON has not, becomes null.
std::string as_json(std::string_view text);

/// The numbers of one object of a line. False: it cannot be read.
bool read_step_object(std::string_view text, std::uint32_t line, DecimalMark& mark,
                      StepReadings& found);

/// What a whole document is, if it is none of a key's numbers alone.
struct StepDocument {
  bool is_trainer_state = false;  ///< it has a log_history
  std::string schema;             ///< of ddpsim's own
  /// transformers.Trainer notes at the end of training, in log_history, {"step": 500, "train_runtime": 61.3}: seconds of
  /// all steps together (speed_metrics in trainer_utils.py).
  bool ended = false;
  double run_s = 0;  ///< of the last run that ended
  double begin = 0;  ///< the step it began at; negative: it was resumed, where is not said
  double end = 0;    ///< the step it ended at; 0: not said
};

/// Throws InputError where the text is no document.
StepDocument read_step_document(std::string_view text, const std::string& file,
                                StepReadings& found);

}  // namespace ddpsim
