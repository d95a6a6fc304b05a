// The parts of a comparison: which candidate is the fastest and why, the table of all, and the
// effect of each error source.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// One sentence: which candidate trains faster, by how much, and how certain that is.
std::string compare_verdict(const CompareReport& report);
/// Follows the verdict: what decides it, or why it is not decided. May be empty.
std::string reason_line(const CompareReport& report, const TerminalStyle& style);
/// How far each error source alone moves the speedup of the verdict; empty if there is only one
/// candidate.
std::string tornado(const CompareReport& report, const TerminalStyle& style);

/// Fastest first.
std::string table_of_jobs(const CompareReport& report, const TerminalStyle& style);
/// What the columns of `table` mean.
std::string table_legend(const CompareReport& report, const std::string& table);

std::string not_compared_lines(const std::vector<NotCompared>& jobs, const TerminalStyle& style);

}  // namespace ddpsim
