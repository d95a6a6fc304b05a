#include <fmt/format.h>

#include "ddpsim/reports/validation_report.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string signed_error(double percent) {
  return fmt::format("{:+.1f} %", percent);
}

std::string microseconds(double us) {
  return fmt::format("{:.{}f}", us, us < 100 ? 2 : us < 10'000 ? 1 : 0);
}

std::string cap_lines(const CapValidation& caps, const TerminalStyle& style) {
  std::string text;
  if (caps.regret_percent) {
    text +=
        fmt::format("Chosen cap: {}; best measured cap: {}; the chosen one costs {:.2f} % more.",
                    caps.chosen, caps.measured_best, *caps.regret_percent);
  } else if (!caps.chosen.empty()) {
    text += fmt::format("Chosen cap: {}, which was not measured; best measured cap: {}.",
                        caps.chosen, caps.measured_best);
  } else {
    text += fmt::format("Best measured cap: {}.", caps.measured_best);
  }
  if (caps.pairs > 0) {
    text += fmt::format(
        " The prediction names the faster cap in {} of {} pairs that differ by more than 2 %.",
        caps.right_sign, caps.pairs);
  }
  return wrapped(text, style.width, 0);
}

}  // namespace

std::string_view name_of(ErrorLimit::Statistic statistic) {
  switch (statistic) {
    case ErrorLimit::Statistic::median:
      return "median";
    case ErrorLimit::Statistic::p90:
      return "p90";
    case ErrorLimit::Statistic::worst:
      break;
  }
  return "worst";
}

double error_percent(const Validation& validation, ErrorLimit::Statistic statistic) {
  switch (statistic) {
    case ErrorLimit::Statistic::median:
      return validation.median_abs_error_percent;
    case ErrorLimit::Statistic::p90:
      return validation.p90_abs_error_percent;
    case ErrorLimit::Statistic::worst:
      break;
  }
  return validation.worst_abs_error_percent;
}

bool exceeds(const Validation& validation, const ErrorLimit& limit) {
  return error_percent(validation, limit.statistic) > limit.percent;
}

std::string validation_text(const Validation& validation, const Figures& predicted,
                            const Figures& measured, const std::optional<ErrorLimit>& limit,
                            const TerminalStyle& style) {
  std::string verdict =
      fmt::format("Error over {}: median {:.1f} %, p90 {:.1f} %, worst {:.1f} % ({}).",
                  counted(validation.rows.size(), "value"), validation.median_abs_error_percent,
                  validation.p90_abs_error_percent, validation.worst_abs_error_percent,
                  printable(validation.worst_name));
  if (validation.own_calibration) verdict += fmt::format(" {}.", kOwnCalibration);
  if (limit) {
    verdict += fmt::format(" The {} is {} the {:g} % allowed.", name_of(limit->statistic),
                           exceeds(validation, *limit) ? "above" : "within", limit->percent);
  }
  std::string text = bold(wrapped(verdict, style.width, 0), style);
  text +=
      dim(wrapped(fmt::format("Predicted: {}, {}. Measured: {}, {}.", printable(predicted.source),
                              predicted.kind, printable(measured.source), measured.kind),
                  style.width, 0),
          style);
  text += '\n';
  Table table({{.head = "value", .shrinks = true},
               {.head = "measured (us)", .align = Align::decimal},
               {.head = "predicted (us)", .align = Align::decimal},
               {.head = "error", .align = Align::right},
               {.head = "in interval", .expendable = 1}});
  for (const ValidationRow& row : validation.rows) {
    table.add_row({printable(row.name), microseconds(row.measured), microseconds(row.predicted),
                   signed_error(row.error_percent),
                   row.within_interval ? (*row.within_interval ? "yes" : "no") : ""});
  }
  text += table.text(style) + '\n';
  if (validation.intervals > 0) {
    text += fmt::format("{} of {} measurements lie within the predicted interval.\n",
                        validation.within_intervals, validation.intervals);
  }
  if (validation.caps) text += cap_lines(*validation.caps, style);
  for (const std::string& note : validation.notes) {
    text += wrapped("note: " + printable(note), style.width, 6);
  }
  for (const Figures* side : {&predicted, &measured}) {
    for (const std::string& warning : side->warnings) {
      text += wrapped("warning: " + printable(warning), style.width, 9);
    }
  }
  return text;
}

}  // namespace ddpsim
