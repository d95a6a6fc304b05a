#include <fmt/format.h>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"
#include "timeline_difference_report.hpp"

namespace ddpsim {
namespace {

constexpr int kTimeDigits = 4;

std::string number(TimePoint instant, TimeUnit unit) {
  return time_number(instant.since_start(), kTimeDigits, unit);
}

/// Predicted minus measured.
std::string apart(const SpanDifference& row, TimePoint Extent::*edge, TimeUnit unit) {
  const Duration by = (*row.predicted).*edge - (*row.measured).*edge;
  const std::string text = time_number(by < Duration() ? -by : by, kTimeDigits, unit);
  return (by < Duration() ? "-" : "+") + text;
}

void note(std::string& names, const SpanDifference& row) {
  const std::string bucket = row.bucket ? fmt::format(" {}", *row.bucket) : "";
  names += (names.empty() ? "" : ", ") + printable(row.name) + bucket;
}

std::string alone(const char* what, const std::string& names, const TerminalStyle& style) {
  return names.empty() ? "" : wrapped(fmt::format("{}: {}.", what, names), style.width, 2);
}

}  // namespace

std::string difference_text(const TimelineDifference& difference, const TerminalStyle& style) {
  const Duration predicted = difference.predicted.end - difference.predicted.start;
  const Duration measured = difference.measured.end - difference.measured.start;
  const TimeUnit unit = unit_for(predicted);
  const double percent = measured > Duration() ? (predicted / measured - 1) * 100 : 0;
  std::string text = wrapped(
      fmt::format("Compared with {}: rank {} took {}, predicted {} ({:+.1f} %).",
                  printable(difference.source), difference.rank, time_text(measured, kTimeDigits),
                  time_text(predicted, kTimeDigits), percent),
      style.width, 2);
  Table table({{"span", Align::left, 0, true},
               {"bucket", Align::right},
               {"start", Align::decimal},
               {"measured", Align::decimal},
               {"difference", Align::decimal},
               {"end", Align::decimal},
               {"measured", Align::decimal},
               {"difference", Align::decimal}});
  std::string only_predicted;
  std::string only_measured;
  for (const SpanDifference& row : difference.spans) {
    if (!row.predicted || !row.measured) {
      note(row.predicted ? only_predicted : only_measured, row);
      continue;
    }
    table.add_row({printable(row.name), row.bucket ? fmt::format("{}", *row.bucket) : "",
                   number(row.predicted->start, unit), number(row.measured->start, unit),
                   apart(row, &Extent::start, unit), number(row.predicted->end, unit),
                   number(row.measured->end, unit), apart(row, &Extent::end, unit)});
  }
  return text +
         fmt::format("Each span in {}: predicted, measured, and predicted minus measured:\n",
                     name_of(unit)) +
         table.text(style) + alone("Only predicted", only_predicted, style) +
         alone("Only measured", only_measured, style);
}

}  // namespace ddpsim
