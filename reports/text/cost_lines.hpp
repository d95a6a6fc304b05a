// What training costs on each candidate, as text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// Whether a unit of work is a sample.
bool counts_samples(const CompareReport& report);
/// Tokens of a sample, if it is the same for every candidate; absent if samples are not sequences.
std::optional<double> tokens_of_sample(const CompareReport& report);

/// What cost lines need to know about the candidates. Vectors are indexed by candidate.
struct CostedCandidates {
  const Costs& costs;
  std::vector<std::string> labels;
  std::vector<int> ranks;
  std::vector<Grade> grades;
  std::vector<std::string> changed_numerics;
  Amount amount;
};
/// Precondition: some candidate has a price.
CostedCandidates costed(const CompareReport& report);

/// " Failures included, p4de@16 (128 GPUs) is the fastest: 1.7 times as fast as p4de@64 (512
/// GPUs)." Empty if no failures are counted. `fastest` is the fastest candidate without failures.
std::string failures_clause(const CostedCandidates& costed, std::size_t fastest);

/// Which candidate is the cheapest, and by how much.
std::string cost_verdict(const CostedCandidates& costed, const TerminalStyle& style);

/// The cost columns of the table of candidates. A candidate without a price has empty cells.
std::vector<Column> cost_columns();
std::vector<std::string> cost_cells(const CostedCandidates& costed, std::size_t candidate);
/// What these columns mean, after a blank.
std::string cost_legend(const CostedCandidates& costed);

/// Where prices come from, which candidates have none, and the share of time lost to failures.
std::string price_lines(const CostedCandidates& costed, const TerminalStyle& style);
/// Each price once, with the candidates that pay it and its source.
std::vector<std::string> price_notes(const CostedCandidates& costed);

/// "12 h", "3.4 days"
std::string long_time(double seconds, int digits);
/// Grade C prints only a range; a single number would look more certain than it is.
std::string usd_range(const FigureRange& range, Grade grade);

}  // namespace ddpsim
