// Calibrations of NCCL and of gloo share one document. Keys that only one of them has are left out
// of the other.
#include "ddpsim/reports/calibration_report.hpp"
#include "ddpsim/reports/gloo_calibration_report.hpp"
#include "described_documents.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// A value of NCCL or of gloo. The other pointer is null.
template <typename OfNccl, typename OfGloo>
struct EitherBackend {
  const OfNccl* nccl = nullptr;
  const OfGloo* gloo = nullptr;
};

/// Reads a value that both have.
template <typename Read>
auto of_either(Read read) {
  return [read](const auto& of) -> decltype(auto) {
    return of.gloo != nullptr ? read(*of.gloo) : read(*of.nccl);
  };
}

/// Reads a value that only one of the two has; null for the other.
template <typename T, typename Value>
auto of_nccl_alone(Value T::*member) {
  return [member](const auto& of) { return of.nccl ? &(of.nccl->*member) : nullptr; };
}
template <typename T, typename Value>
auto of_gloo_alone(Value T::*member) {
  return [member](const auto& of) { return of.gloo ? &(of.gloo->*member) : nullptr; };
}

struct ShownErrors {
  FitErrors errors;
  bool of_gloo;
};

const Described<ShownErrors>& described_fit_errors() {
  using Shown = ShownErrors;
  static const auto counted = [](bool of_gloo) {
    return [of_gloo](const Shown& of) {
      return of.of_gloo == of_gloo ? std::optional(of.errors.sizes) : std::nullopt;
    };
  };
  static const auto described =
      Described<Shown>("Errors", "errors of predicted times compared with measured ones",
                       Layout::line)
          .ratio(
              "median_abs_error_percent", [](const Shown& of) { return 100 * of.errors.median; },
              "median of the absolute errors, in percent")
          .ratio(
              "p90_abs_error_percent", [](const Shown& of) { return 100 * of.errors.p90; },
              "90th percentile of the absolute errors, in percent")
          .integer(
              "sizes", counted(false),
              "how many measured times were judged: those of sizes from 1 KiB on. Only for NCCL",
              Absent::left_out)
          .integer("times", counted(true), "how many measured times were judged. Only for gloo",
                   Absent::left_out);
  return described;
}

/// A job shape that was predicted without its logs.
struct ShownShapeLeftOut {
  JobShape shape;
  ShownErrors errors;
  bool by_specification;
};

const Described<ShownShapeLeftOut>& described_shape_left_out() {
  using Shown = ShownShapeLeftOut;
  static const auto errors = [](bool by_specification) {
    return [by_specification](const Shown& of) {
      return of.by_specification == by_specification ? &of.errors : nullptr;
    };
  };
  static const auto described =
      Described<Shown>("ShapeLeftOut", "a job shape, predicted without its own logs")
          .integer(
              "nodes", [](const Shown& of) { return of.shape.nodes; }, "nodes of the job")
          .integer(
              "gpus_per_node", [](const Shown& of) { return of.shape.gpus_per_node; },
              "GPUs of each node")
          .object("predicted_by_specification", errors(true), described_fit_errors(),
                  "errors with the cluster's data sheet values alone. Only if no logs of other job "
                  "shapes can be fitted",
                  Absent::left_out)
          .object("predicted_from_others", errors(false), described_fit_errors(),
                  "errors with a fit to the logs of other job shapes. Only if there are such logs",
                  Absent::left_out);
  return described;
}

const Described<CalibratedShape>& described_fitted_log() {
  static const auto described =
      Described<CalibratedShape>("Log", "a log that was fitted", Layout::line)
          .text("source", &CalibratedShape::source, "where the log is from")
          .integer("nodes", &CalibratedShape::nodes, "nodes of the job that was timed")
          .integer("gpus_per_node", &CalibratedShape::gpus_per_node, "GPUs of each node")
          .text(
              "nccl",
              [](const CalibratedShape& of) {
                return of.nccl ? std::optional(to_string(*of.nccl)) : std::nullopt;
              },
              "the log's version of NCCL, as printed or stated. Only if it is known",
              Absent::left_out)
          .boolean(
              "published",
              [](const CalibratedShape& of) {
                return of.published ? std::optional(true) : std::nullopt;
              },
              "true if the log was published and is from another machine of the same kind. Only "
              "for such logs",
              Absent::left_out);
  return described;
}

const Described<LogLeftOut>& described_log_left_out() {
  static const auto described =
      Described<LogLeftOut>("LogLeftOut", "a log that was not fitted", Layout::line)
          .text("source", &LogLeftOut::source, "where the log is from")
          .text("reason", &LogLeftOut::reason, "why the log was not fitted");
  return described;
}

struct ShownConstant {
  std::string_view name;
  std::string_view element = {};
  std::optional<std::string_view> unit = {};
  std::optional<bool> told = {};
  double before, value;
  std::optional<double> low, high;
};

const Described<ShownConstant>& described_constant() {
  using Shown = ShownConstant;
  static const auto described =
      Described<Shown>("Constant", "a constant of the cost model", Layout::line)
          .text("name", &Shown::name, "the constant's name in a cluster file")
          .text("element", unless_empty(&Shown::element),
                "which value of an array it is. Only for arrays", Absent::left_out)
          .text("unit", &Shown::unit, "the unit of the value. Only for NCCL", Absent::left_out)
          .boolean("told_by_logs", &Shown::told,
                   "whether the logs determine the value; if false, it is unchanged. Only for gloo",
                   Absent::left_out)
          .number("before", &Shown::before, "the value without calibration")
          .number("value", &Shown::value, "the calibrated value")
          .number("low", &Shown::low,
                  "the low end of the value's 80 % interval. Only if the logs determine the value",
                  Absent::left_out)
          .number("high", &Shown::high,
                  "the high end of the value's 80 % interval. Only if the logs determine the value",
                  Absent::left_out);
  return described;
}

struct ShownResidual : EitherBackend<FitResidual, GlooResidual> {
  const std::string* source = nullptr;
};

const Described<GlooResidual>& described_left_out_time() {
  static const auto described =
      Described<GlooResidual>("TimeLeftOut", "a size predicted without its own times")
          .ratio(
              "left_out_us",
              [](const GlooResidual& of) {
                return of.left_out_us > 0 ? std::optional(of.left_out_us) : std::nullopt;
              },
              "the time predicted without the times of this size; null if nothing else can be "
              "fitted. Only for gloo");
  return described;
}

const Described<ShownResidual>& described_residual() {
  using Shown = ShownResidual;
  static const auto choice = [](auto CollectiveChoice::*what) {
    return [what](const Shown& of) { return of.nccl ? &(of.nccl->choice.*what) : nullptr; };
  };
  static const auto described =
      Described<Shown>("Residual", "a measured time and its prediction", Layout::line)
          .text(
              "source", [](const Shown& of) -> const auto& { return *of.source; },
              "the log that holds the time")
          .integer("nodes", of_either([](const auto& row) { return row.shape.nodes; }),
                   "nodes of the job that was timed")
          .integer("gpus_per_node",
                   of_either([](const auto& row) { return row.shape.gpus_per_node; }),
                   "GPUs of each node")
          .integer(
              "size_bytes", of_either([](const auto& row) { return row.size; }),
              "size of the all-reduce in bytes; if several are in flight, the size of all together")
          .word("algorithm", choice(&CollectiveChoice::algorithm), all_up_to(Algorithm::nvls_tree),
                "the algorithm that NCCL is assumed to have chosen. Only for NCCL",
                Absent::left_out)
          .word("protocol", choice(&CollectiveChoice::protocol), all_up_to(Protocol::simple),
                "the protocol that NCCL is assumed to have chosen. Only for NCCL", Absent::left_out)
          .integer(
              "together", of_gloo_alone(&GlooResidual::together),
              "number of all-reduces in flight together, which are timed as one. Only for gloo",
              Absent::left_out)
          .ratio("measured_us", of_either([](const auto& row) { return row.measured_us; }),
                 "the measured time")
          .ratio("uncalibrated_us", of_gloo_alone(&GlooResidual::assumed_us),
                 "the time predicted without calibration. Only for gloo", Absent::left_out)
          .ratio("modelled_us", of_nccl_alone(&FitResidual::modelled_us),
                 "the time predicted with the fitted constants alone. Only for NCCL",
                 Absent::left_out)
          .ratio("calibrated_us", of_either([](const auto& row) { return row.calibrated_us; }),
                 "the time predicted by the calibrated cluster")
          .members_of([](const Shown& of) { return of.gloo; }, described_left_out_time());
  return described;
}

using ShownCalibration = EitherBackend<CalibrationReport, GlooCalibrationReport>;

ShownErrors errors_calibrated(const ShownCalibration& of) {
  if (of.gloo) return {errors_of(of.gloo->fit.residuals), true};
  return {errors_of(of.nccl->fit.residuals, kSmallestJudged), false};
}

std::optional<ShownErrors> errors_of_model_alone(const ShownCalibration& of) {
  if (!of.nccl) return std::nullopt;
  return ShownErrors{errors_of(of.nccl->fit.residuals, kSmallestJudged, true), false};
}

auto gloo_errors(double GlooResidual::*predicted) {
  return [predicted](const ShownCalibration& of) -> std::optional<ShownErrors> {
    if (!of.gloo) return std::nullopt;
    return ShownErrors{errors_of(of.gloo->fit.residuals, predicted), true};
  };
}

std::vector<ShownShapeLeftOut> shown_shapes_left_out(const ShownCalibration& of) {
  std::vector<ShownShapeLeftOut> shown;
  if (of.gloo)
    for (const GlooShapeLeftOut& one : of.gloo->fit.ranks_left_out)
      shown.push_back({one.shape, {one.errors, true}, false});
  if (of.nccl)
    for (const ShapeLeftOut& one : of.nccl->shapes_left_out)
      shown.push_back(
          {one.shape, {errors_of(one.residuals, kSmallestJudged), false}, one.by_specification});
  return shown;
}

std::vector<ShownConstant> shown_constants(const ShownCalibration& of) {
  std::vector<ShownConstant> shown;
  if (of.gloo)
    for (const GlooFitted& one : of.gloo->fit.constants) {
      const auto if_told = [&](double value) {
        return one.told ? std::optional(value) : std::nullopt;
      };
      shown.push_back({.name = one.constant->name,
                       .told = one.told,
                       .before = one.before,
                       .value = one.value,
                       .low = if_told(one.low),
                       .high = if_told(one.high)});
    }
  if (of.nccl)
    for (const FittedConstant& one : of.nccl->fit.constants)
      shown.push_back({.name = one.constant->name,
                       .element = one.constant->element,
                       .unit = one.constant->unit,
                       .before = one.before,
                       .value = one.value,
                       .low = one.low,
                       .high = one.high});
  return shown;
}

std::vector<ShownResidual> shown_residuals(const ShownCalibration& of) {
  std::vector<ShownResidual> shown;
  if (of.gloo)
    for (const GlooResidual& row : of.gloo->fit.residuals)
      shown.push_back({{.nccl = nullptr, .gloo = &row}, &of.gloo->fit.used[row.log]});
  if (of.nccl)
    for (const FitResidual& row : of.nccl->fit.residuals)
      shown.push_back({{.nccl = &row, .gloo = nullptr}, &of.nccl->fit.used[row.log]});
  return shown;
}

const std::vector<CalibratedShape>* fitted_logs(const ShownCalibration& of) {
  return of.nccl ? &of.nccl->fit.calibration.shapes : nullptr;
}

const std::vector<std::string>* told_by_fit(const ShownCalibration& of,
                                            std::vector<std::string> Fit::*texts) {
  return of.nccl ? &(of.nccl->fit.*texts) : nullptr;
}

const Described<ShownCalibration>& described_calibration() {
  using Shown = ShownCalibration;
  static const auto described =
      Described<Shown>("CalibrateResult",
                       "what logs of a cluster tell about it, and how well they fit")
          .constant("schema", "ddpsim.calibration/1", "which document this is")
          .one_of(
              "backend",
              [](const Shown& of) {
                return of.gloo ? std::optional<std::string_view>("gloo") : std::nullopt;
              },
              {"gloo"}, "the backend whose logs were fitted. Only for gloo", Absent::left_out)
          .text("cluster", of_either([](const auto& of) -> const auto& { return of.cluster; }),
                "the cluster, as given")
          .text("output", of_either([](const auto& of) -> const auto& { return of.output; }),
                "the file of the calibrated cluster")
          .texts("read", of_either([](const auto& of) -> const auto& { return of.read; }),
                 "what was recognised in each file, one sentence each")
          .object("uncalibrated", gloo_errors(&GlooResidual::assumed_us), described_fit_errors(),
                  "errors without calibration. Only for gloo", Absent::left_out)
          .object("calibrated", &errors_calibrated, described_fit_errors(),
                  "errors of the calibrated cluster")
          .object("sizes_left_out", gloo_errors(&GlooResidual::left_out_us), described_fit_errors(),
                  "errors if each size is predicted without its own times. Only for gloo",
                  Absent::left_out)
          .object("model_alone", &errors_of_model_alone, described_fit_errors(),
                  "errors with the fitted constants alone, before the correction that follows the "
                  "logs. Only for NCCL",
                  Absent::left_out)
          .list("shapes_left_out", &shown_shapes_left_out, described_shape_left_out(),
                "each job shape predicted without its own logs")
          .list("logs", &fitted_logs, described_fitted_log(),
                "logs that were fitted. Only for NCCL", Absent::left_out)
          .list("left_out",
                of_either([](const auto& of) -> const auto& { return of.fit.left_out; }),
                described_log_left_out(), "logs that were not fitted, and why")
          .list("constants", &shown_constants, described_constant(),
                "constants of the cost model: for NCCL those that the logs determine, for gloo all")
          .list("residuals", &shown_residuals, described_residual(),
                "each measured time and its prediction")
          .texts(
              "model_misses", [](const Shown& of) { return told_by_fit(of, &Fit::model_misses); },
              "where measured times differ from the cost model by a quarter or more, one sentence "
              "each. Only for NCCL",
              Absent::left_out)
          .texts(
              "notes", [](const Shown& of) { return told_by_fit(of, &Fit::notes); },
              "what the fit found or assumed, one sentence each. Only for NCCL", Absent::left_out)
          .texts("warnings", of_either([](const auto& of) -> const auto& { return of.warnings; }),
                 "warnings, one sentence each");
  return described;
}

std::string shown_as_json(const ShownCalibration& calibration) {
  return described_calibration().text_of(calibration);
}

}  // namespace

const ObjectType& calibration_document() {
  return described_calibration().type();
}

std::string calibration_report_json(const CalibrationReport& report) {
  return shown_as_json({.nccl = &report, .gloo = nullptr});
}

std::string gloo_calibration_json(const GlooCalibrationReport& report) {
  return shown_as_json({.nccl = nullptr, .gloo = &report});
}

}  // namespace ddpsim
