// Notes on a comparison besides its rows: what the sides do not tell, and why they may not be comparable.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/all_reduce_changes.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "diff_side.hpp"

namespace ddpsim {

/// Names the sides that have a step but do not tell where its time goes.
std::vector<std::string> parts_not_told(const DiffSide& before, const DiffSide& after);

/// Returns the kinds of evidence that only one side has, so that a change cannot be seen.
std::vector<std::string> evidence_of_one_side(const Evidence& before, const Evidence& after);
/// Returns the kinds of evidence that both sides have.
std::vector<std::string> evidence_of_both(const Evidence& before, const Evidence& after);

/// Warns if the two sides may not be the same job, and says which of several tables and sizes are compared. `report` has the compared
/// times.
std::vector<std::string> comparison_warnings(const DiffSide& before, const DiffSide& after,
                                             const std::optional<AllReduceChanges>& logs,
                                             const DifferenceReport& report);

}  // namespace ddpsim
