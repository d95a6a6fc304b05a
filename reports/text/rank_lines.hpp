// Unequal ranks in words: how much steps vary, and which rank the others waited for.
#pragma once

#include <string>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Empty if all ranks are equal.
std::string rank_lines(const SimulateReport& report, int digits, const TerminalStyle& style);

}  // namespace ddpsim
