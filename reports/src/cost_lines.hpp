// What training costs on each candidate, for the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// USD for this much, as its step may be: low, predicted, high.
struct CostRange {
  double low = 0;
  double value = 0;
  double high = 0;
  CostRange times(double factor) const { return {low * factor, value * factor, high * factor}; }
};
/// For a unit of work (WorkTime). Precondition: the candidate has a price.
CostRange cost_of_work(const CompareReport& report, std::size_t candidate);
/// Seconds for a unit of work, goodput included.
CostRange time_of_work(const CompareReport& report, std::size_t candidate);
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
