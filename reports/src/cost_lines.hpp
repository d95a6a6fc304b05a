// What training costs on each candidate, for the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// Whether a unit of work is a sample.
bool counts_samples(const CompareReport& report);

/// Who is cheapest, by how much; empty where nothing has a price.
std::string cost_verdict(const CompareReport& report, const TerminalStyle& style);

/// What the table of candidates has of costs; a candidate without a price has empty cells.
std::vector<Column> cost_columns();
std::vector<std::string> cost_cells(const CompareReport& report, std::size_t candidate);
/// What these columns mean, with a blank in front; empty where nothing has a price.
std::string cost_legend(const CompareReport& report);

/// Where prices come from, who has none, and what failures take; empty where nothing has a price.
std::string price_lines(const CompareReport& report, const TerminalStyle& style);

}  // namespace ddpsim
