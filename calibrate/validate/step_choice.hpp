// Decides which key of a text is the step's time, and turns its numbers into steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/calibrate/validate/step_times.hpp"
#include "step_readings.hpp"

namespace ddpsim {

enum class StepForm { table, lines, document };

/// The keys of a text to choose from, and how messages describe the text.
struct StepChoice {
  const StepReadings& found;
  const StepTimesAsked& asked;
  const std::string& file;
  StepForm form = StepForm::lines;
  std::vector<std::string> columns;  ///< all columns of a table
  std::string_view text = {};        ///< for lines: where the keys were found
};

/// Throws InputError if there is no such key, or if several disagree.
MeasuredSteps choose_steps(const StepChoice& choice);

}  // namespace ddpsim
