// Tables of the difference between two steps. Each begins with a blank line, and is empty if there
// is nothing to show.
#pragma once

#include <string>

#include "ddpsim/reports/difference_report.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// The parts of the step that changed, then the model's kernels by phase. All times have this many
/// `decimals`.
std::string step_change_table(const DifferenceReport& report, TimeUnit unit, int decimals,
                              const TerminalStyle& style);

/// The all-reduce sizes that changed most, both faster and slower, sorted by size.
std::string all_reduce_change_table(const DifferenceReport& report, const TerminalStyle& style);

/// Time and count of kernels by kind.
std::string kernel_change_table(const DifferenceReport& report, TimeUnit unit,
                                const TerminalStyle& style);

}  // namespace ddpsim
