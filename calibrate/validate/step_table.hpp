// Step times in a table: columns by their names, with commas, semicolons or tabs between cells, quoted or not.
#pragma once

#include <string>
#include <string_view>

#include "step_readings.hpp"

namespace ddpsim {

/// By its first two lines: names, of which one is known or asked for; or names over as many cells.
bool is_step_table(std::string_view text, const std::string& asked);

/// `columns`: all names, for messages. Throws InputError where a row has more cells than there are names.
void read_step_table(std::string_view text, const std::string& file, StepReadings& found,
                     std::vector<std::string>& columns);

}  // namespace ddpsim
