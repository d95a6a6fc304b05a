// What ddpsim.compare/1 says of candidates that stand side by side, on one workload or on several.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"
#include "described_advice.hpp"

namespace ddpsim {

/// A row of a report: a candidate by its place among those compared, or one that could not be compared.
template <typename Report>
struct CandidateRow {
  const Report& report;
  std::size_t index = 0;
  const NotCompared* not_compared = nullptr;  ///< null: the candidate was compared
};
/// Candidates compared, then the others.
template <typename Report>
std::vector<CandidateRow<Report>> candidate_rows(const Report& report, std::size_t compared) {
  std::vector<CandidateRow<Report>> rows;
  for (std::size_t i = 0; i < compared; ++i) rows.push_back({report, i});
  for (const NotCompared& job : report.not_compared) rows.push_back({report, 0, &job});
  return rows;
}

ShownInterval shown_interval(const FigureRange& range);

/// behind_percent, and what stands behind it.
const Described<Speedup>& described_behind();

/// What a candidate is paid for, as far as a comparison says it.
struct CostAmounts {
  std::optional<FigureRange> usd_per_1000_steps = {};
  std::optional<FigureRange> usd_per_million_samples = {};
  std::optional<FigureRange> usd_per_million_tokens = {};
  std::optional<FigureRange> usd = {};
  std::optional<FigureRange> seconds = {};
  std::optional<FigureRange> usd_per_hour_of_reference = {};
};
/// A candidate where some candidate has a price.
struct PricedCandidate {
  const CandidateCost* cost;  ///< null: this one has no price
  CostAmounts amounts;
};
/// cost
const Described<PricedCandidate>& described_priced();

/// by_cost, where anything has a price; until, where it was asked.
const std::vector<std::size_t>* by_cost_of(const std::optional<Costs>& costs);
const std::vector<Until>* until_of(const std::vector<Until>& all);
const Described<Until>& described_until();

}  // namespace ddpsim
