// Which of a text's keys is the step's time, and what its numbers make.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/calibrate/validate/step_times.hpp"
#include "step_readings.hpp"

namespace ddpsim {

enum class StepForm { table, lines, document };

/// What the keys of a text are chosen from, and how messages call it.
struct StepChoice {
  const StepReadings& found;
  const StepTimesAsked& asked;
  const std::string& file;
  StepForm form = StepForm::lines;
  std::vector<std::string> columns;  ///< of a table: all of them
  std::string_view text = {};        ///< of lines: where the keys were found
};

/// Throws InputError where none is, or several are and do not agree.
MeasuredSteps choose_steps(const StepChoice& choice);

}  // namespace ddpsim
