// Reads step times from a table: columns with names, and cells separated by commas, semicolons or
// tabs, quoted or not.
#pragma once

#include <string>
#include <string_view>

#include "step_readings.hpp"

namespace ddpsim {

/// Judged by its first two lines: names of which one is known or requested, or names above the same
/// number of cells.
bool is_step_table(std::string_view text, const std::string& asked);

/// `columns` receives all names, for messages. Throws InputError if a row has more cells than there
/// are names.
void read_step_table(std::string_view text, const std::string& file, StepReadings& found,
                     std::vector<std::string>& columns);

}  // namespace ddpsim
