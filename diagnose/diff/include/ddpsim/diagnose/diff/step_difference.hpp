// Two measured steps of what should be one job: where the time between them went. A pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/diagnose/diff/step_parts.hpp"

namespace ddpsim {

/// One part of the change. `before`, `after` and `change` are exact; the interval is of `change`.
struct DifferenceRow {
  StepPart part = StepPart::kernels;
  Duration before;
  Duration after;
  Duration change;                   ///< after - before; rows sum to the steps' change
  Duration low;                      ///< four times in five the change lies from here …
  Duration high;                     ///< … to here, what the evidence cannot tell apart included
  std::optional<Duration> expected;  ///< what a model says the change should cost
  Bound bound = Bound::none;         ///< of `before` or `after`
  /// Of `change`: an upper bound of `before` bounds it from below, one of both in neither direction.
  Bound bound_of_change = Bound::none;
  /// Of efficiency (kernels k of a step s), in per cent; they sum to its change, of kernels as both sides tell them. Of another row that grew by d it is
  /// -k d / (s s'), of kernels d (s - k) / (s s'): a slower denominator makes a step look more efficient.
  double points = 0;
};

struct StepDifference {
  StepBreakdown before, after;
  std::vector<DifferenceRow> rows;  ///< the largest change first
  Duration change;                  ///< after.step - before.step
  Duration noise;  ///< what two runs of one thing may differ by, four times in five
  std::vector<std::string> missing;  ///< what could not be compared, and what would make it so
  bool beyond_noise() const { return std::max(change, -change) > noise; }
  double percent() const { return 100 * (change / before.step); }
};

/// Parts known on one side alone are counted to the part that holds them on the other: launches and copies to kernels,
/// all else to `unexplained`. Of a side whose step alone is known all is unexplained. Steps must be longer than zero.
StepDifference difference(const StepBreakdown& before, const StepBreakdown& after);

/// Kernels' share of the step, in per cent: what one GPU computes, of what the step takes. Absent where parts are not known.
std::optional<double> efficiency_percent(const StepBreakdown& breakdown);

/// Whether a slowdown is more than allowed, and the row that grew most; absent: it is not.
struct Slowdown {
  double percent = 0;
  std::optional<DifferenceRow> row;  ///< absent where no row grew
};
std::optional<Slowdown> slowdown_above(const StepDifference& difference, double percent);

}  // namespace ddpsim
