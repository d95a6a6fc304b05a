// A step drawn in two rows, compute above communication.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Forward, backward and optimizer are shaded. A bucket's transfer is drawn as its number, its wait
/// for the last rank as dots. Empty if the step takes no time.
std::string overlap_drawing(const SimulationResult& result, const TerminalStyle& style, int digits);

}  // namespace ddpsim
