// Ranks that differ, in words: how steps spread, and who made whom wait.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Empty where ranks are alike.
std::string rank_lines(const SimulateReport& report, int digits, const TerminalStyle& style);

}  // namespace ddpsim
