// Tables of a difference between two steps, each behind a blank line; empty where there is nothing to show.
#pragma once

#include <string>

#include "ddpsim/reports/difference_report.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// The parts of the step that changed, and below them the model's kernels by phase. `decimals`: of all times.
std::string step_change_table(const DifferenceReport& report, TimeUnit unit, int decimals,
                              const TerminalStyle& style);

/// The sizes of all-reduces that changed most, faster and slower ones, by size.
std::string all_reduce_change_table(const DifferenceReport& report, const TerminalStyle& style);

/// Time and number of kernels by kind.
std::string kernel_change_table(const DifferenceReport& report, TimeUnit unit,
                                const TerminalStyle& style);

}  // namespace ddpsim
