// A comparison in parts: who is first, why, the table of all, what each error moves.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// One sentence: who trains faster, by how much, how surely.
std::string compare_verdict(const CompareReport& report);
/// Behind the verdict: what decides it, or why nothing does. May be empty.
std::string reason_line(const CompareReport& report, const TerminalStyle& style);
/// How far each source of error moves the verdict's lead; empty of one candidate alone.
std::string tornado(const CompareReport& report, const TerminalStyle& style);

/// Fastest first.
std::string table_of_jobs(const CompareReport& report, const TerminalStyle& style);
/// What the columns of `table` mean.
std::string table_legend(const CompareReport& report, const std::string& table);

std::string not_compared_lines(const std::vector<NotCompared>& jobs, const TerminalStyle& style);

}  // namespace ddpsim
