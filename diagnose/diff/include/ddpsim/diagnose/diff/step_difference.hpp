// Compares two measured steps of what should be one job, and tells where the time between them
// went. A pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/diagnose/diff/step_parts.hpp"

namespace ddpsim {

/// One part of the change. `before`, `after` and `change` are exact; the interval belongs to
/// `change`.
struct DifferenceRow {
  StepPart part = StepPart::kernels;
  Duration before;
  Duration after;
  Duration change;  ///< after - before; rows sum to the steps' change
  /// `low` to `high` is the 80 % interval of the change, including what the evidence cannot tell
  /// apart.
  Duration low;
  Duration high;
  std::optional<Duration> expected;  ///< predicted change, from a model
  Bound bound = Bound::none;         ///< of `before` or `after`
  /// The bound on `change`: an upper bound of `before` bounds it from below. If both sides are
  /// bounds, it is bounded in neither direction.
  Bound bound_of_change = Bound::none;
  /// Contribution to the change of efficiency (kernels k of a step s), in per cent; contributions
  /// sum to that change, with kernels as both sides count them. Another row that grew by d
  /// contributes -k d / (s s'), and kernels that grew by d contribute d (s - k) / (s s'). A larger
  /// denominator makes a step look more efficient.
  double points = 0;
};

struct StepDifference {
  StepBreakdown before, after;
  std::vector<DifferenceRow> rows;  ///< largest change first
  Duration change;                  ///< after.step - before.step
  /// 80 % interval of the difference between two runs of the same job, to either side.
  Duration noise;
  /// What could not be compared, and what would make it comparable.
  std::vector<std::string> missing;
  bool beyond_noise() const { return std::max(change, -change) > noise; }
  double percent() const { return 100 * (change / before.step); }
};

/// Parts known on only one side are counted in the part that contains them on the other: launches
/// and copies in kernels, the rest in `unexplained`. If only the step of a side is known, all of it
/// is unexplained. Steps must be longer than zero.
StepDifference difference(const StepBreakdown& before, const StepBreakdown& after);

/// Share of kernels in the step, in per cent: how much of the step one GPU computes. Absent if
/// parts are not known.
std::optional<double> efficiency_percent(const StepBreakdown& breakdown);

/// A slowdown beyond the allowed one, and the row that grew most.
struct Slowdown {
  double percent = 0;
  std::optional<DifferenceRow> row;  ///< absent if no row grew
};
std::optional<Slowdown> slowdown_above(const StepDifference& difference, double percent);

}  // namespace ddpsim
