#include "tune_curve.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cap_words.hpp"
#include "curve_selection.hpp"

namespace ddpsim {
namespace {

std::string marks_of(const CurvePoint& point, const TuneResult& result) {
  std::vector<std::string> marks;
  if (first_set_apart(point, result)) {
    marks.push_back(fmt::format("first bucket {} MiB", cap_text(*point.first_bucket_mb)));
  }
  if (!point.reachable) marks.emplace_back("not with this PyTorch");
  if (is_current(point, result)) marks.emplace_back("current");
  if (same_setting(point, result.default_setting)) marks.emplace_back("default");
  if (same_setting(point, result.best)) marks.emplace_back("fastest");
  if (is_recommended(point, result)) marks.emplace_back("recommended");
  if (is_to_measure(point, result)) marks.emplace_back("measure first");
  return fmt::format("{}", fmt::join(marks, ", "));
}

/// Change from the baseline if the replay error of the current step is in communication.
Duration change_if_communication(const CurvePoint& point, const TuneResult& result) {
  const CurvePoint& baseline = result.baseline();
  return point.if_communication.value_or(point.iteration) -
         baseline.if_communication.value_or(baseline.iteration);
}

/// Whether attributing the replay error to communication measurably changes the gain of some cap.
bool causes_differ(const TuneResult& result) {
  return std::ranges::any_of(result.curve, [&](const CurvePoint& point) {
    const Duration apart =
        change_if_communication(point, result) - (point.iteration - result.baseline().iteration);
    return std::max(apart, -apart) >= result.recommended.measurable;
  });
}

std::vector<const CurvePoint*> shown_points(const TuneResult& result, const TerminalStyle& style) {
  constexpr std::size_t kOnPage = 9;
  constexpr std::size_t kWhole = 15;
  const std::size_t rows = style.most_lines > 0 ? kOnPage : kWhole;
  std::vector<const CurvePoint*> shown;
  // Changes are counted from the recorded buckets or the default, which may not be points of the
  // curve.
  if (result.current && result.current->recorded) shown.push_back(&result.current->point);
  if (result.only_caps_asked) shown.push_back(&result.default_setting);
  for (const std::size_t i : representative_points(result, rows)) shown.push_back(&result.curve[i]);
  return shown;
}

/// Communication cost of the slowest step shown, which a full bar stands for.
Duration longest_cost(const std::vector<const CurvePoint*>& shown, const TuneResult& result) {
  Duration most;
  for (const CurvePoint* point : shown)
    most = std::max(most, point->iteration - result.lower_bound);
  return most;
}

std::string curve_table(const std::vector<const CurvePoint*>& shown, const TuneResult& result,
                        int digits, TimeUnit unit, const TerminalStyle& style) {
  constexpr int kBarCells = 12;
  if (shown.empty()) return "";
  const Duration most = longest_cost(shown, result);
  std::vector<Duration> steps;
  for (const CurvePoint* point : shown) steps.push_back(point->iteration);
  const int step_digits = digits_apart(steps, digits, result.recommended.measurable, unit);
  const std::string suffix = fmt::format(" {}", name_of(unit));
  const bool either_way = causes_differ(result);
  std::vector<Column> columns = {{"bucket_cap_mb", Align::decimal},
                                 {"same buckets", Align::left, 2},
                                 {"buckets", Align::right, 3},
                                 {"step" + suffix, Align::decimal},
                                 {"change" + suffix, Align::decimal}};
  if (either_way) columns.push_back({"if communication", Align::decimal});
  columns.push_back({"blocking" + suffix, Align::decimal, 4});
  columns.push_back({"comm. cost", Align::left, 1});
  columns.push_back({"", Align::left});
  Table table(std::move(columns));
  for (const CurvePoint* shown_point : shown) {
    const CurvePoint& point = *shown_point;
    const Duration change = point.iteration - result.baseline().iteration;
    const Duration above = point.iteration - result.lower_bound;
    const std::optional<double> cap = shown_cap(point, result);
    // A cap is rounded so that it stays within its range; in a range without an upper end it is
    // rounded up.
    const bool open = point.cap_range_mb.second == kNoLimitMb;
    const bool recorded = result.current && &point == &result.current->point;
    const auto signed_time = [&](Duration time) {
      return (time > Duration() ? "+" : "") + time_number(time, digits, unit);
    };
    std::vector<std::string> cells = {cap        ? cap_inside(*cap, point.cap_range_mb, open)
                                      : recorded ? "as recorded"
                                                 : "default",
                                      range_in_table(point), std::to_string(point.buckets),
                                      time_number(point.iteration, step_digits, unit),
                                      signed_time(change)};
    if (either_way) cells.push_back(signed_time(change_if_communication(point, result)));
    cells.push_back(time_number(point.blocking_communication, digits, unit));
    cells.push_back(most > Duration() ? bar(above / most, kBarCells) : "");
    cells.push_back(marks_of(point, result));
    table.add_row(std::move(cells));
  }
  return '\n' + table.text(style);
}

std::string curve_note(const TuneResult& result, Duration longest_bar, int digits, TimeUnit unit,
                       const TerminalStyle& style) {
  const auto unsettable = static_cast<std::size_t>(std::count_if(
      result.curve.begin(), result.curve.end(), [](const CurvePoint& p) { return !p.reachable; }));
  const std::size_t settable = result.curve.size() - unsettable + result.unsimulated;
  const char* asked = result.left_out.empty() ? " asked for" : " tried";
  std::string text = result.only_caps_asked
                         ? counted(settable, "cap") + asked
                         : fmt::format("Caps give {}", counted(settable, "bucket assignment"));
  if (unsettable > 0)
    text += fmt::format(", and {} that this PyTorch does not let you set", unsettable);
  if (result.unsimulated > 0)
    text += fmt::format("; {} were simulated: those estimated fastest, and a sample of the others",
                        result.curve.size());
  if (longest_bar > Duration())
    text += fmt::format("; the longest bar is {}", time_text(longest_bar, digits, unit));
  return dim(wrapped(text + '.', style.width, 2), style);
}

}  // namespace

std::string curve_lines(const TuneResult& result, int digits, TimeUnit unit,
                        const TerminalStyle& style) {
  const std::vector<const CurvePoint*> shown = shown_points(result, style);
  return curve_table(shown, result, digits, unit, style) +
         curve_note(result, longest_cost(shown, result), digits, unit, style);
}

std::string bound_lines(const TuneResult& result, int digits, TimeUnit unit,
                        const TerminalStyle& style) {
  std::string lines = wrapped(
      fmt::format("Lower bound: {} if collectives took no time; they cost {} of the {} step.",
                  time_text(result.lower_bound, digits, unit),
                  time_text(result.baseline().iteration - result.lower_bound, digits, unit),
                  result.current ? "current" : "default"),
      style.width, 2);
  if (!result.best_partition) {
    if (result.best_partition_absent_because.empty()) return lines;
    return lines +
           wrapped("Best partition: none, " + printable(result.best_partition_absent_because) + '.',
                   style.width, 2);
  }
  const BestPartition& partition = *result.best_partition;
  constexpr std::size_t kMostSizes = 8;
  std::string sizes;
  for (std::size_t i = 0; i < std::min(partition.buckets.size(), kMostSizes); ++i) {
    sizes += (i == 0 ? "" : ", ") + mebibytes(partition.buckets[i].bytes);
  }
  if (partition.buckets.size() > kMostSizes) sizes += ", …";
  return lines + wrapped(fmt::format("Best partition found: {} in {} ({} MiB); {}.",
                                     time_text(partition.iteration, digits, unit),
                                     counted(partition.buckets.size(), "bucket"), sizes,
                                     partition.is_best_cap ? "the best cap gives it"
                                     : partition.reachable ? "bucket_cap_mb_list can set it"
                                                           : "no bucket cap can set it"),
                         style.width, 2);
}

}  // namespace ddpsim
