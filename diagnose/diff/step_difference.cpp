#include "ddpsim/diagnose/diff/step_difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"

namespace ddpsim {
namespace {

Duration size_of(Duration time) {
  return std::max(time, -time);
}

/// The combined error of two independent values.
Duration together(Duration a, Duration b) {
  const double x = a.microseconds();
  const double y = b.microseconds();
  return Duration::microseconds(std::sqrt(x * x + y * y));
}

/// The part that contains `part` on a side that does not know it separately.
StepPart holder_of(StepPart part) {
  if (part == part_of(LossCause::launch_bound) || part == part_of(LossCause::copies) ||
      part == part_of(LossCause::buffer_broadcast) || part == part_of(LossCause::sync_batchnorm))
    return StepPart::kernels;
  return part_of(LossCause::unexplained);
}

void move_to_holder(StepBreakdown& breakdown, StepPart part) {
  PartTime& from = breakdown[part];
  PartTime& to = breakdown[holder_of(part)];
  to.time += from.time;
  to.low += from.low;
  to.high += from.high;
  from = PartTime();
}

void make_comparable(StepBreakdown& one, StepBreakdown& other) {
  const bool everything = one.parts_known != other.parts_known;
  for (const StepPart part : all_step_parts()) {
    if (part == part_of(LossCause::unexplained)) continue;
    if (part == StepPart::kernels && !everything) continue;
    // A part that took no time counts as unknown.
    const auto differs = [&](const StepBreakdown& has, const StepBreakdown& lacks) {
      return has[part].known && !lacks[part].known && has[part].time != Duration();
    };
    if (everything) {
      PartTime& from = one[part].known ? one[part] : other[part];
      StepBreakdown& whose = one[part].known ? one : other;
      PartTime& to = whose[LossCause::unexplained];
      to.time += from.time;
      to.low += from.low;
      to.high += from.high;
      from = PartTime();
    } else if (differs(one, other)) {
      move_to_holder(one, part);
    } else if (differs(other, one)) {
      move_to_holder(other, part);
    }
  }
}

/// Parts that only one side counts separately and the other in its kernels. They make the
/// efficiencies of the two sides incomparable.
std::optional<std::string> counted_as_kernels(const StepBreakdown& before,
                                              const StepBreakdown& after) {
  if (!before.parts_known || !after.parts_known) return std::nullopt;
  std::vector<std::string_view> names;
  for (const StepPart part : all_step_parts()) {
    if (part == StepPart::kernels || holder_of(part) != StepPart::kernels) continue;
    const StepBreakdown& has = before[part].known ? before : after;
    if (before[part].known != after[part].known && has[part].time != Duration())
      names.push_back(name_of(part));
  }
  if (names.empty()) return std::nullopt;
  return fmt::format(
      "only one side knows these parts, so both count them in kernels: {}. The efficiency in the "
      "rows includes them, unlike each side's own. Record both sides the same way",
      fmt::join(names, ", "));
}

/// Shortens the step to start at the first kernel and end with the optimizer, as on the other side.
void leave_out_pause(StepBreakdown& breakdown) {
  const auto take = [&](StepPart part, Duration time) {
    breakdown[part].time -= time;
    breakdown[part].low -= time;
    breakdown[part].high -= time;
    breakdown.step -= time;
  };
  take(part_of(LossCause::input), breakdown.pause.input);
  take(breakdown.pause.rest_is, breakdown.pause.rest);
  breakdown[LossCause::input] = PartTime();
  breakdown.pause = {};
}

/// The bound on after - before.
Bound bound_of_change(Bound before, Bound after) {
  const bool upper = after == Bound::upper || before == Bound::lower;
  const bool lower = after == Bound::lower || before == Bound::upper;
  return upper == lower ? Bound::none : upper ? Bound::upper : Bound::lower;
}

DifferenceRow row_of(StepPart part, const StepBreakdown& before, const StepBreakdown& after) {
  const PartTime& old = before[part];
  const PartTime& now = after[part];
  DifferenceRow row{.part = part,
                    .before = old.time,
                    .after = now.time,
                    .change = now.time - old.time,
                    .low = {},
                    .high = {},
                    .expected = {},
                    .bound = now.bound != Bound::none ? now.bound : old.bound,
                    .bound_of_change = bound_of_change(old.bound, now.bound)};
  row.low = row.change - together(now.time - now.low, old.high - old.time);
  row.high = row.change + together(now.high - now.time, old.time - old.low);
  const double kernels = before[StepPart::kernels].time.microseconds();
  const double step = before.step.microseconds();
  const double both = step * after.step.microseconds();
  row.points = part == StepPart::kernels ? 100 * row.change.microseconds() * (step - kernels) / both
                                         : -100 * kernels * row.change.microseconds() / both;
  return row;
}

}  // namespace

StepDifference difference(const StepBreakdown& before, const StepBreakdown& after) {
  DDPSIM_ASSERT(before.step > Duration() && after.step > Duration(), "a step takes time",
                before.step, after.step);
  StepDifference result{.before = before, .after = after, .change = {}, .noise = {}};
  if (before.parts_known && after.parts_known && (before.steps == 0) != (after.steps == 0)) {
    leave_out_pause(before.steps == 0 ? result.after : result.before);
    result.missing.emplace_back(
        "only one side knows the time between steps, so both are compared from the start of "
        "forward to the end of the optimizer. Record a step that another step follows");
  }
  result.change = result.after.step - result.before.step;
  result.noise = together(before.error, after.error);
  StepBreakdown old = result.before;
  StepBreakdown now = result.after;
  make_comparable(old, now);
  if (std::optional<std::string> counted = counted_as_kernels(result.before, result.after))
    result.missing.push_back(*std::move(counted));
  for (const StepPart part : all_step_parts())
    if (old[part].known || now[part].known) result.rows.push_back(row_of(part, old, now));
  Duration sum;
  for (const DifferenceRow& row : result.rows) sum += row.change;
  DDPSIM_ASSERT(sum == result.change, "rows add up to what the steps differ by", sum,
                result.change);
  std::erase_if(result.rows, [](const DifferenceRow& row) {
    return row.before == Duration() && row.after == Duration() && row.bound == Bound::none &&
           row.part != part_of(LossCause::unexplained);
  });
  std::ranges::stable_sort(result.rows, [](const DifferenceRow& a, const DifferenceRow& b) {
    return size_of(a.change) > size_of(b.change);
  });
  return result;
}

std::optional<double> efficiency_percent(const StepBreakdown& breakdown) {
  if (!breakdown.parts_known) return std::nullopt;
  return 100 * (breakdown[StepPart::kernels].time / breakdown.step);
}

std::optional<Slowdown> slowdown_above(const StepDifference& difference, double percent) {
  if (difference.percent() <= percent) return std::nullopt;
  Slowdown slowdown{.percent = difference.percent(), .row = {}};
  for (const DifferenceRow& row : difference.rows)
    if (row.change > Duration() && (!slowdown.row || row.change > slowdown.row->change))
      slowdown.row = row;
  return slowdown;
}

}  // namespace ddpsim
