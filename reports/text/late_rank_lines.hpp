// Which ranks are late in the compared steps, and which nodes have slow links. Both are empty if
// that was not recorded.
#pragma once

#include <string>

#include "ddpsim/reports/difference_report.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// A sentence, a table of ranks and, with --verbose, the waits at each collective.
std::string late_rank_lines(const DifferenceReport& report, TimeUnit unit,
                            const TerminalStyle& style);

/// What the slow pairs of nodes in a bandwidth matrix have in common.
std::string pair_lines(const DifferenceReport& report, const TerminalStyle& style);

}  // namespace ddpsim
