// Describes the candidates of ddpsim.compare/1, on one workload or on several.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/formats/described.hpp"
#include "ddpsim/reports/reports.hpp"
#include "described_advice.hpp"

namespace ddpsim {

/// A row of a report: a compared candidate by its index, or one that could not be compared.
template <typename Report>
struct CandidateRow {
  const Report& report;
  std::size_t index = 0;
  const NotCompared* not_compared = nullptr;  ///< null: the candidate was compared
};
/// The compared candidates, then the others.
template <typename Report>
std::vector<CandidateRow<Report>> candidate_rows(const Report& report, std::size_t compared) {
  std::vector<CandidateRow<Report>> rows;
  for (std::size_t i = 0; i < compared; ++i) rows.push_back({report, i});
  for (const NotCompared& job : report.not_compared) rows.push_back({report, 0, &job});
  return rows;
}

ShownInterval shown_interval(const FigureRange& range);

/// behind_percent, and the keys that explain it.
const Described<Speedup>& described_behind();

/// The costs of a candidate. Those that a comparison does not state are absent.
struct CostAmounts {
  std::optional<FigureRange> usd_per_1000_steps = {};
  std::optional<FigureRange> usd_per_million_samples = {};
  std::optional<FigureRange> usd_per_million_tokens = {};
  std::optional<FigureRange> usd = {};
  std::optional<FigureRange> seconds = {};
  std::optional<FigureRange> usd_per_hour_of_reference = {};
};
/// A candidate of a comparison in which some candidate has a price.
struct PricedCandidate {
  const CandidateCost* cost;  ///< null: no price for this one
  CostAmounts amounts;
};
/// The key `cost`.
const Described<PricedCandidate>& described_priced();

/// by_cost, or null without prices; until, or null without --until.
const std::vector<std::size_t>* by_cost_of(const std::optional<Costs>& costs);
const std::vector<Until>* until_of(const std::vector<Until>& all);
const Described<Until>& described_until();

}  // namespace ddpsim
