#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ddpsim/reports/calibration_report.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostBreaks = 8;

std::string percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::vector<FitResidual> of_log(const Fit& fit, std::size_t log) {
  std::vector<FitResidual> out;
  for (const FitResidual& row : fit.residuals)
    if (row.log == log) out.push_back(row);
  return out;
}

Table logs_table(const Fit& fit) {
  Table table({{.head = "log", .shrinks = true},
               {.head = "nodes x GPUs", .align = Align::right},
               {.head = "sizes", .align = Align::right},
               {.head = "model %", .align = Align::decimal},
               {.head = "p90 %", .align = Align::decimal},
               {.head = "calibrated %", .align = Align::decimal},
               {.head = "p90 %", .align = Align::decimal}});
  for (std::size_t log = 0; log < fit.used.size(); ++log) {
    const std::vector<FitResidual> rows = of_log(fit, log);
    const FitErrors law = errors_of(rows, kSmallestJudged, true);
    const FitErrors all = errors_of(rows, kSmallestJudged);
    table.add_row({printable(fit.used[log]),
                   fmt::format("{}x{}", rows.front().shape.nodes, rows.front().shape.gpus_per_node),
                   fmt::format("{}", rows.size()), percent(law.median), percent(law.p90),
                   percent(all.median), percent(all.p90)});
  }
  return table;
}

Table constants_table(const Fit& fit) {
  Table table({{.head = "constant"},
               {.head = "before", .align = Align::decimal},
               {.head = "fitted", .align = Align::decimal},
               {.head = "low", .align = Align::decimal},
               {.head = "high", .align = Align::decimal},
               {.head = "unit"},
               {.head = "what it is", .shrinks = true}});
  const auto number = [](double value) { return fmt::format("{:.3g}", value); };
  for (const FittedConstant& fitted : fit.constants) {
    const CostConstant& row = *fitted.constant;
    table.add_row({fmt::format("{}{}{}", row.name, row.element.empty() ? "" : " ", row.element),
                   number(fitted.before), number(fitted.value), number(fitted.low),
                   number(fitted.high), std::string(row.unit), std::string(row.meaning)});
  }
  return table;
}

/// Errors of all logs by size class, a class for every fourth power of two, in percent of the
/// measured time.
Table sizes_table(const Fit& fit) {
  Table table({{.head = "size from", .align = Align::right},
               {.head = "rows", .align = Align::right},
               {.head = "model %", .align = Align::decimal},
               {.head = "calibrated %", .align = Align::decimal},
               {.head = "worst %", .align = Align::decimal}});
  std::map<int, std::vector<const FitResidual*>> classes;
  for (const FitResidual& row : fit.residuals)
    classes[static_cast<int>(elementary::log2(static_cast<double>(row.size.count()))) / 4]
        .push_back(&row);
  for (const auto& [index, rows] : classes) {
    std::vector<FitResidual> copies;
    double worst = 0;
    for (const FitResidual* row : rows) {
      copies.push_back(*row);
      worst = std::max(worst, std::abs(row->calibrated_us / row->measured_us - 1));
    }
    const Bytes from(std::int64_t{1} << (4 * index));
    table.add_row({size_text(from), fmt::format("{}", rows.size()),
                   percent(errors_of(copies, Bytes(), true).median),
                   percent(errors_of(copies, Bytes()).median), percent(worst)});
  }
  return table;
}

/// The written file as the next command should name it. It names the smallest measured number of
/// nodes, but several nodes rather than one if possible: the fit is best there, and a single node
/// hides the network.
std::string next_cluster(const CalibrationReport& report) {
  int one = 0;
  int several = 0;
  for (const FitResidual& row : report.fit.residuals) {
    const int nodes = report.gpus_per_host ? std::max(1, row.shape.ranks() / *report.gpus_per_host)
                                           : row.shape.nodes;
    int& fewest = nodes == 1 ? one : several;
    if (fewest == 0 || nodes < fewest) fewest = nodes;
  }
  const std::string file = printable(report.output);
  return several > 0 ? fmt::format("{}@{}", file, several) : one > 0 ? file + "@1" : file;
}

/// The first sentence. It judges the fit by job shapes that were left out: how well a fit
/// reproduces its own logs proves nothing.
std::string headline(const CalibrationReport& report) {
  const std::string calibrated = fmt::format("{} calibrated with {}", printable(report.cluster),
                                             counted(report.fit.used.size(), "log"));
  const auto& left_out = report.shapes_left_out;
  if (left_out.size() < 2) {
    const std::string without =
        left_out.empty()
            ? ""
            : fmt::format("; the {} alone are {} % off (median)",
                          left_out.front().by_specification ? "data sheets" : "published logs",
                          percent(errors_of(left_out.front().residuals, kSmallestJudged).median));
    return calibrated + " of one job shape, which the fit reproduces by construction" + without +
           ". Add a log with another number of nodes or GPUs to learn how well unmeasured job "
           "shapes are predicted.";
  }
  std::vector<FitResidual> all;
  std::string each;
  for (const ShapeLeftOut& one : left_out) {
    all.insert(all.end(), one.residuals.begin(), one.residuals.end());
    each += fmt::format("{}{}x{} {} %", each.empty() ? "" : ", ", one.shape.nodes,
                        one.shape.gpus_per_node,
                        percent(errors_of(one.residuals, kSmallestJudged).median));
  }
  const FitErrors errors = errors_of(all, kSmallestJudged);
  return fmt::format(
      "{}. Each job shape left out and predicted from the others: median error {} %, nine in ten "
      "within {} % from 1 KiB on ({}). Measured job shapes are reproduced as measured.",
      calibrated, percent(errors.median), percent(errors.p90), each);
}

std::string bullets(const std::string& head, const std::vector<std::string>& lines,
                    const TerminalStyle& style) {
  if (lines.empty()) return "";
  std::string text = "\n" + bold(head, style) + "\n";
  for (const std::string& line : lines) text += wrapped("- " + printable(line), style.width, 2);
  return text;
}

}  // namespace

std::string calibration_report_text(const CalibrationReport& report, const TerminalStyle& style) {
  const Fit& fit = report.fit;
  std::string text = wrapped(headline(report), style.width, 2);
  for (const std::string& line : report.read) text += wrapped(printable(line), style.width, 2);
  text += "\n" + logs_table(fit).text(style);
  text += wrapped(
      "model: fitted constants alone; calibrated: with the correction that follows the logs.",
      style.width, 2);
  std::vector<std::string> left_out;
  for (const LogLeftOut& log : fit.left_out) left_out.push_back(log.source + ": " + log.reason);
  text += bullets("Left out", left_out, style);
  if (!fit.constants.empty())
    text += "\n" + bold("Constants, with 80 % intervals", style) + "\n" +
            constants_table(fit).text(style);
  text += "\n" + bold("Median error by size", style) + "\n" + sizes_table(fit).text(style);
  std::vector<std::string> breaks = fit.model_misses;
  if (breaks.size() > kMostBreaks) {
    const std::size_t more = breaks.size() - kMostBreaks;
    breaks.resize(kMostBreaks);
    breaks.push_back(fmt::format("{} more (--json has all)", more));
  }
  text += bullets("Where the cost model is off by a quarter or more", breaks, style);
  text += bullets("Notes", fit.notes, style);
  for (const std::string& warning : report.warnings)
    text += wrapped("warning: " + printable(warning), style.width, 2);
  text += "\n" +
          wrapped(fmt::format("Next: ddpsim allreduce {}", next_cluster(report)), style.width, 2);
  return text;
}

}  // namespace ddpsim
