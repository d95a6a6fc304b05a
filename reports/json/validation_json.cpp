#include "ddpsim/formats/csv_table.hpp"
#include "ddpsim/reports/validation_report.hpp"
#include "described_documents.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

const Described<ValidationRow>& described_validation_row() {
  static const auto described =
      Described<ValidationRow>("ValidateRow", "a value that was predicted and measured",
                               Layout::line)
          .text("name", &ValidationRow::name, "the name of the value")
          .text("unit", &ValidationRow::unit, "the unit of measured and predicted")
          .ratio("measured", &ValidationRow::measured, "the measured value, in the row's unit")
          .ratio("predicted", &ValidationRow::predicted, "the predicted value, in the row's unit")
          .ratio("error_percent", &ValidationRow::error_percent,
                 "predicted minus measured, in percent of measured; above 0 if the prediction is "
                 "too high")
          .boolean("within_interval", &ValidationRow::within_interval,
                   "whether the measured value lies in the predicted interval. Only if the "
                   "prediction states one",
                   Absent::left_out);
  return described;
}

const Described<Validation>& described_intervals_held() {
  static const auto described =
      Described<Validation>("IntervalsHeld", "how many predicted intervals hold their measurement",
                            Layout::line)
          .integer("given", &Validation::intervals,
                   "number of rows whose prediction states an interval")
          .integer("hold", &Validation::within_intervals,
                   "number of rows whose predicted interval holds the measured value");
  return described;
}

const Described<CapValidation>& described_caps_validated() {
  static const auto described =
      Described<CapValidation>("CapsValidated",
                               "what choosing a bucket cap by the prediction costs")
          .text("chosen", unless_empty(&CapValidation::chosen),
                "the cap that the prediction advises; null if it advises none")
          .text("measured_best", &CapValidation::measured_best,
                "the cap with the shortest measured step")
          .ratio("regret_percent", &CapValidation::regret_percent,
                 "how much longer the measured step is with the chosen cap than with the best one, "
                 "in percent; null if the former was not measured")
          .integer("differing_pairs", &CapValidation::pairs,
                   "number of pairs of caps whose measured steps differ by more than 2 %")
          .integer("right_sign", &CapValidation::right_sign,
                   "number of these pairs for which the prediction names the faster cap");
  return described;
}

/// An error limit, and whether it is exceeded.
struct JudgedLimit {
  ErrorLimit limit;
  bool exceeded;
};

const Described<JudgedLimit>& described_error_limit() {
  static const auto described =
      Described<JudgedLimit>("ErrorLimit", "the largest error that is allowed", Layout::line)
          .ratio(
              "max_error_percent", [](const JudgedLimit& of) { return of.limit.percent; },
              "the limit in percent, as --max-error gives it")
          .word(
              "statistic", [](const JudgedLimit& of) { return of.limit.statistic; },
              all_up_to(ErrorLimit::Statistic::median), "which statistic of the errors is limited")
          .boolean("exceeded", &JudgedLimit::exceeded,
                   "whether the error is above the limit; if so, the exit code is 4");
  return described;
}

/// A validation and the two files that it compares.
struct ShownValidation {
  const Validation& validation;
  const Figures& predicted;
  const Figures& measured;
  const std::optional<ErrorLimit>& limit;
};

std::optional<JudgedLimit> judged_limit(const ShownValidation& of) {
  if (!of.limit) return std::nullopt;
  return JudgedLimit{*of.limit, exceeds(of.validation, *of.limit)};
}

std::vector<std::string> validation_warnings(const ShownValidation& of) {
  std::vector<std::string> warnings;
  if (of.validation.own_calibration) warnings.emplace_back(kOwnCalibration);
  for (const Figures* side : {&of.predicted, &of.measured})
    warnings.insert(warnings.end(), side->warnings.begin(), side->warnings.end());
  return warnings;
}

const Described<ShownValidation>& described_validation() {
  using Shown = ShownValidation;
  static const auto of_all = [](auto Validation::*member) {
    return [member](const Shown& of) -> const auto& {
      return of.validation.*member;
    };
  };
  static const auto described =
      Described<Shown>("ValidateResult", "a prediction compared with a measurement, value by value")
          .constant("schema", "ddpsim.validation/1", "which document this is")
          .text(
              "predicted",
              [](const Shown& of) -> const std::string& { return of.predicted.source; },
              "the prediction, as given")
          .text(
              "measured", [](const Shown& of) -> const std::string& { return of.measured.source; },
              "the measurement, as given: a file, or a step time")
          .list("rows", of_all(&Validation::rows), described_validation_row(),
                "every value that both prediction and measurement have")
          .ratio("median_abs_error_percent", of_all(&Validation::median_abs_error_percent),
                 "median of the absolute errors over all rows, in percent")
          .ratio("p90_abs_error_percent", of_all(&Validation::p90_abs_error_percent),
                 "90th percentile of the absolute errors over all rows, in percent")
          .ratio("worst_abs_error_percent", of_all(&Validation::worst_abs_error_percent),
                 "largest absolute error of all rows, in percent")
          .text("worst_name", of_all(&Validation::worst_name),
                "the name of the row with the largest error")
          .boolean("own_calibration", of_all(&Validation::own_calibration),
                   "whether this measurement calibrated the predicted cluster; if so, the errors "
                   "prove nothing")
          .object(
              "intervals", [](const Shown& of) -> const Validation& { return of.validation; },
              described_intervals_held(), "how many predicted intervals hold their measurement")
          .object("caps", of_all(&Validation::caps), described_caps_validated(),
                  "what choosing a cap by the prediction costs. Only if both files have steps by "
                  "bucket cap",
                  Absent::left_out)
          .object("limit", &judged_limit, described_error_limit(),
                  "the largest error that is allowed. Only with --max-error", Absent::left_out)
          .texts("notes", of_all(&Validation::notes),
                 "what was left out or makes the comparison doubtful, one sentence each")
          .texts("warnings", &validation_warnings, "warnings, one sentence each");
  return described;
}

}  // namespace

const ObjectType& validation_document() {
  return described_validation().type();
}

std::string validation_json(const Validation& validation, const Figures& predicted,
                            const Figures& measured, const std::optional<ErrorLimit>& limit) {
  return described_validation().text_of({validation, predicted, measured, limit});
}

std::string validation_csv(const Validation& validation) {
  return csv_of(described_validation_row(), validation.rows,
                {"name", "unit", "measured", "predicted", "error_percent"});
}

}  // namespace ddpsim
