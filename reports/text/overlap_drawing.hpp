// A step drawn in two rows: compute above, communication below.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Forward, backward and optimizer as shaded stretches; each bucket's transfer as its number, its
/// wait for the last rank as dots. Empty when the step has no length.
std::string overlap_drawing(const SimulationResult& result, const TerminalStyle& style, int digits);

}  // namespace ddpsim
