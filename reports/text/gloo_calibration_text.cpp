#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "ddpsim/reports/gloo_calibration_report.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string share_text(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::string gloo_headline(const GlooCalibrationReport& report) {
  const GlooFit& fit = report.fit;
  const FitErrors sizes = errors_of(fit.residuals, &GlooResidual::left_out_us);
  std::string text = fmt::format("{} calibrated for gloo with {}.", printable(report.cluster),
                                 counted(fit.used.size(), "log"));
  if (sizes.sizes > 0)
    text += fmt::format(
        " Each size left out and predicted from the others: median error {} %, nine in ten of {} "
        "times within {} %.",
        share_text(sizes.median), sizes.sizes, share_text(sizes.p90));
  if (fit.ranks_left_out.empty())
    return text +
           " All logs are of one job shape, so nothing tells how well other numbers of ranks are "
           "predicted. Their interval stays as wide as without logs.";
  std::vector<std::string> each;
  for (const GlooShapeLeftOut& one : fit.ranks_left_out)
    each.push_back(fmt::format("{}x{} {} %", one.shape.nodes, one.shape.gpus_per_node,
                               share_text(one.errors.median)));
  return text + fmt::format(" Each job shape left out: median error {}.", fmt::join(each, ", "));
}

Table gloo_constants_table(const GlooFit& fit) {
  Table table({{.head = "value"},
               {.head = "before", .align = Align::decimal},
               {.head = "now", .align = Align::decimal},
               {.head = "low", .align = Align::decimal},
               {.head = "high", .align = Align::decimal},
               {.head = "unit"},
               {.head = "what it is", .shrinks = true}});
  const auto number = [](double value) { return fmt::format("{:.3g}", value); };
  for (const GlooFitted& one : fit.constants)
    if (one.told)
      table.add_row({std::string(one.constant->word), number(one.before), number(one.value),
                     number(one.low), number(one.high), std::string(one.constant->unit),
                     std::string(one.constant->meaning)});
  return table;
}

/// One row for each range of sizes. A range spans a factor of 16: from 1 B, from 16 B, from 256 B,
/// and so on.
Table gloo_sizes_table(const GlooFit& fit) {
  Table table({{.head = "size from", .align = Align::right},
               {.head = "times", .align = Align::right},
               {.head = "uncalibrated %", .align = Align::decimal},
               {.head = "calibrated %", .align = Align::decimal},
               {.head = "left out %", .align = Align::decimal}});
  std::map<int, std::vector<GlooResidual>> classes;
  for (const GlooResidual& row : fit.residuals)
    classes[static_cast<int>(elementary::log2(static_cast<double>(row.size.count()))) / 4]
        .push_back(row);
  for (const auto& [index, rows] : classes) {
    const FitErrors left_out = errors_of(rows, &GlooResidual::left_out_us);
    table.add_row({size_text(Bytes(std::int64_t{1} << (4 * index))), fmt::format("{}", rows.size()),
                   share_text(errors_of(rows, &GlooResidual::assumed_us).median),
                   share_text(errors_of(rows).median),
                   left_out.sizes > 0 ? share_text(left_out.median) : "-"});
  }
  return table;
}

}  // namespace

std::string gloo_calibration_text(const GlooCalibrationReport& report, const TerminalStyle& style) {
  const GlooFit& fit = report.fit;
  std::string text = wrapped(gloo_headline(report), style.width, 2);
  for (const std::string& line : report.read) text += wrapped(printable(line), style.width, 2);
  for (const LogLeftOut& log : fit.left_out)
    text += wrapped("left out: " + printable(log.source) + ": " + log.reason, style.width, 2);
  if (!fit.calibration.fitted.empty())
    text += "\n" + bold("Values of --gloo, with 80 % intervals", style) + "\n" +
            gloo_constants_table(fit).text(style);
  std::vector<std::string> assumed;
  for (const GlooFitted& one : fit.constants)
    if (!one.told)
      assumed.push_back(fmt::format("{} {:.3g}{}{}", one.constant->word, one.before,
                                    one.constant->unit.empty() ? "" : " ", one.constant->unit));
  if (!assumed.empty())
    text += wrapped(fmt::format("Not determined by these logs, so assumed as before: {}.",
                                fmt::join(assumed, ", ")),
                    style.width, 2);
  text += "\n" + bold("Median error by size", style) + "\n" + gloo_sizes_table(fit).text(style);
  const double apart = k80PercentSigmas * fit.calibration.deviation.large;
  text +=
      wrapped(fmt::format("Interval at job shapes of these logs: {:+.0f} to {:+.0f} % of gloo's "
                          "times from 1 MiB on.",
                          100 * (elementary::exp(-apart) - 1), 100 * (elementary::exp(apart) - 1)),
              style.width, 2);
  for (const std::string& warning : report.warnings)
    text += wrapped("warning: " + printable(warning), style.width, 2);
  const CalibratedShape& first = fit.calibration.logs.front();
  return text + "\n" +
         wrapped(fmt::format("Next: ddpsim simulate WORKLOAD {}@{} --backend gloo",
                             printable(report.output), first.nodes),
                 style.width, 2);
}

}  // namespace ddpsim
