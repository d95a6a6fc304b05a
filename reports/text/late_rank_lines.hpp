// Who is late in a difference's steps, and which nodes are slow with others; empty where that was not recorded.
#pragma once

#include <string>

#include "ddpsim/reports/difference_report.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// A sentence, a table of ranks, and with --verbose each collective's waits.
std::string late_rank_lines(const DifferenceReport& report, TimeUnit unit,
                            const TerminalStyle& style);

/// What the slow pairs in a matrix of bandwidths between nodes have in common.
std::string pair_lines(const DifferenceReport& report, const TerminalStyle& style);

}  // namespace ddpsim
