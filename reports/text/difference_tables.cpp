#include "difference_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/size_text.hpp"
#include "difference_words.hpp"

namespace ddpsim {
namespace {

/// A row of the table of changes.
struct ChangeLine {
  std::string label;
  Duration before, now;
  std::string change;
  std::string interval;  ///< "+1.0 to +1.4", 80 %
  double points = 0;     ///< change of efficiency
  std::optional<Duration> expected;
};

std::string with_sign(const std::string& number) {
  return number.starts_with('-') ? number : "+" + number;
}

/// Rows that do not round to zero, and always the unexplained rest.
std::vector<DifferenceRow> rows_to_show(const StepDifference& difference, TimeUnit unit,
                                        int decimals) {
  std::vector<DifferenceRow> rows = difference.rows;
  std::erase_if(rows, [&](const DifferenceRow& row) {
    const auto nothing = [&](Duration time) {
      return rounds_to_zero(in_unit(time, unit), decimals);
    };
    return nothing(row.before) && nothing(row.after) && row.bound == Bound::none &&
           row.part != part_of(LossCause::unexplained);
  });
  return rows;
}

/// The changes as printed. They add up to the change of the step, and the unexplained row takes the
/// rounding error.
std::vector<std::string> changes_adding_up(const std::vector<DifferenceRow>& rows, Duration change,
                                           TimeUnit unit, int decimals) {
  std::vector<double> parts;
  for (const DifferenceRow& row : rows) parts.push_back(in_unit(row.change, unit));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].part == part_of(LossCause::unexplained)) kept = i;
  return adding_up(parts, in_unit(change, unit), decimals, kept);
}

/// A row for each part and a last one for the whole step.
std::vector<ChangeLine> change_lines(const DifferenceReport& report, TimeUnit unit, int decimals) {
  const StepDifference& difference = report.difference;
  const auto shown = [&](Duration time) { return fixed(in_unit(time, unit), decimals); };
  const std::vector<DifferenceRow> rows = rows_to_show(difference, unit, decimals);
  const std::vector<std::string> changes =
      changes_adding_up(rows, difference.change, unit, decimals);
  std::vector<ChangeLine> lines;
  double points = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const DifferenceRow& row = rows[i];
    const std::string bound = row.bound == Bound::upper   ? " (at most)"
                              : row.bound == Bound::lower ? " (at least)"
                                                          : "";
    lines.push_back(
        {.label = label_of(row.part, difference.after) + bound,
         .before = row.before,
         .now = row.after,
         .change = with_sign(changes[i]),
         .interval = fmt::format("{} to {}", with_sign(shown(row.low)), with_sign(shown(row.high))),
         .points = row.points,
         .expected = row.expected});
    points += row.points;
  }
  lines.push_back({.label = "step",
                   .before = difference.before.step,
                   .now = difference.after.step,
                   .change = with_sign(shown(difference.change)),
                   .interval = fmt::format("noise {}", shown(difference.noise)),
                   .points = points,
                   .expected = report.expected_change});
  return lines;
}

}  // namespace

std::string step_change_table(const DifferenceReport& report, TimeUnit unit, int decimals,
                              const TerminalStyle& style) {
  if (report.before.all_reduce) return "";
  const StepDifference& difference = report.difference;
  const auto shown = [&](Duration time) { return fixed(in_unit(time, unit), decimals); };
  const bool expected = report.expected_change.has_value();
  const bool points = difference.before.parts_known && difference.after.parts_known;
  std::vector<Column> columns = {{"where the step changed"},
                                 {"before", Align::right, 3},
                                 {"now", Align::right, 3},
                                 {std::string(name_of(unit)), Align::right},
                                 {"80 % interval", Align::left, 2}};
  if (points) columns.push_back({"efficiency", Align::right, 1});
  if (expected) columns.push_back({"expected", Align::right, 1});
  Table table(std::move(columns));
  for (const ChangeLine& line : change_lines(report, unit, decimals)) {
    std::vector<std::string> cells = {line.label, shown(line.before), shown(line.now), line.change,
                                      line.interval};
    if (points) cells.push_back(fmt::format("{:+.1f} points", line.points));
    if (expected) cells.push_back(line.expected ? with_sign(shown(*line.expected)) : "");
    table.add_row(std::move(cells));
  }
  std::string text = '\n' + table.text(style);
  if (points) {
    const auto& a = difference.before.kernels;
    const auto& b = difference.after.kernels;
    text +=
        wrapped(fmt::format("The model's kernels by phase: forward {}, backward {}, optimizer {}.",
                            signed_time(b.forward - a.forward, unit),
                            signed_time(b.backward - a.backward, unit),
                            signed_time(b.optimizer - a.optimizer, unit)),
                style.width, 0);
  }
  if (!report.expected_of.empty())
    text += wrapped(fmt::format("Expected: {}.", printable(report.expected_of)), style.width, 0);
  return text;
}

std::string all_reduce_change_table(const DifferenceReport& report, const TerminalStyle& style) {
  if (!report.all_reduces) return "";
  const AllReduceChanges& changes = *report.all_reduces;
  std::vector<const SizeChange*> shown;
  for (const bool slower : {true, false}) {
    std::vector<const SizeChange*> ones;
    for (const SizeChange& one : changes.sizes)
      if (one.clear && (one.growth > 1) == slower) ones.push_back(&one);
    std::ranges::stable_sort(ones, [&](const SizeChange* a, const SizeChange* b) {
      return slower ? a->growth > b->growth : a->growth < b->growth;
    });
    constexpr std::size_t kMostSizes = 4;
    if (style.most_lines != 0 && ones.size() > kMostSizes) ones.resize(kMostSizes);
    shown.insert(shown.end(), ones.begin(), ones.end());
  }
  if (shown.size() < 2) return "";
  std::ranges::sort(shown, {}, [](const SizeChange* one) { return one->size; });
  Table table({{"all-reduces that changed most"},
               {"before", Align::right, 3},
               {"now", Align::right, 3},
               {"busbw before", Align::right, 2},
               {"busbw now (GB/s)", Align::right, 2},
               {"change", Align::right}});
  const auto busbw = [](Bytes size, Duration time, int ranks) {
    const auto gbps = known_busbw(size, time, ranks);
    return gbps ? significant(*gbps, kDifferenceDigits) : std::string("-");
  };
  for (const SizeChange* one : shown)
    table.add_row({size_text(one->size), time_text(one->before, kDifferenceDigits),
                   time_text(one->after, kDifferenceDigits),
                   busbw(one->size, one->before, changes.ranks_before),
                   busbw(one->size, one->after, changes.ranks_after),
                   fmt::format("{:.1f} % {}", 100 * std::abs(one->growth - 1),
                               one->growth > 1 ? "slower" : "faster")});
  return '\n' + table.text(style);
}

std::string kernel_change_table(const DifferenceReport& report, TimeUnit unit,
                                const TerminalStyle& style) {
  if (!report.kernels || report.kernels->rows.empty()) return "";
  Table table({{"kernels by kind, with DDP's copies"},
               {"before", Align::right},
               {"now", Align::right},
               {std::string(name_of(unit)), Align::right},
               {"count before", Align::right, 2},
               {"count now", Align::right, 1}});
  Duration largest;
  for (const auto& row : report.kernels->rows)
    largest = std::max(largest, without_sign(row.after.time - row.before.time));
  const int decimals = decimals_for(in_unit(largest, unit));
  const std::size_t most = style.most_lines == 0 ? report.kernels->rows.size() : 5;
  for (std::size_t i = 0; i < std::min(most, report.kernels->rows.size()); ++i) {
    const KernelComparison::Row& row = report.kernels->rows[i];
    const double change = in_unit(row.after.time - row.before.time, unit);
    table.add_row(
        {std::string(name_of(row.kind)), fixed(in_unit(row.before.time, unit), decimals),
         fixed(in_unit(row.after.time, unit), decimals), fmt::format("{:+.{}f}", change, decimals),
         fmt::format("{:.0f}", row.before.count), fmt::format("{:.0f}", row.after.count)});
  }
  return '\n' + table.text(style);
}

}  // namespace ddpsim
