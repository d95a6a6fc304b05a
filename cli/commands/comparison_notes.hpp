// What a reader of a comparison must know beside its rows: what the two sides do not tell, and why they may be no comparison.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/all_reduce_changes.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "diff_side.hpp"

namespace ddpsim {

/// The sides that have a step but do not say where its time goes.
std::vector<std::string> parts_not_told(const DiffSide& before, const DiffSide& after);

/// Kinds of evidence that only one side has: nothing tells whether they changed.
std::vector<std::string> evidence_of_one_side(const Evidence& before, const Evidence& after);
/// Kinds of evidence that both sides have.
std::vector<std::string> evidence_of_both(const Evidence& before, const Evidence& after);

/// Why the two may be something else than one job twice, and which of several tables and sizes are compared.
/// `report`: what its times are compared by.
std::vector<std::string> comparison_warnings(const DiffSide& before, const DiffSide& after,
                                             const std::optional<AllReduceChanges>& logs,
                                             const DifferenceReport& report);

}  // namespace ddpsim
