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
/// Of every candidate alike; absent where its samples are no sequences.
std::optional<double> tokens_of_sample(const CompareReport& report);

/// Candidates as far as what they cost is told.
struct CostedCandidates {
  const Costs& costs;
  std::vector<std::string> labels;
  std::vector<int> ranks;
  std::vector<Grade> grades;
  std::vector<std::string> changed_numerics;
  Amount amount;
};
/// Precondition: anything has a price.
CostedCandidates costed(const CompareReport& report);

/// " Failures included, p4de@16 (128 GPUs) is the fastest: 1.7 times as fast as p4de@64 (512 GPUs)." Empty where none are counted.
/// `fastest`: between failures.
std::string failures_clause(const CostedCandidates& costed, std::size_t fastest);

/// Who is cheapest, by how much.
std::string cost_verdict(const CostedCandidates& costed, const TerminalStyle& style);

/// What the table of candidates has of costs; a candidate without a price has empty cells.
std::vector<Column> cost_columns();
std::vector<std::string> cost_cells(const CostedCandidates& costed, std::size_t candidate);
/// What these columns mean, with a blank in front.
std::string cost_legend(const CostedCandidates& costed);

/// Where prices come from, who has none, and what failures take.
std::string price_lines(const CostedCandidates& costed, const TerminalStyle& style);
/// Each price once, with those who pay it and where it comes from.
std::vector<std::string> price_notes(const CostedCandidates& costed);

/// "12 h", "3.4 days"
std::string long_time(double seconds, int digits);
/// Of grade C a range alone: one figure would be believed.
std::string usd_range(const FigureRange& range, Grade grade);

}  // namespace ddpsim
