#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/calibration_report.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

void write_errors(JsonWriter& json, std::string_view key, const FitErrors& errors) {
  json.key(key).begin_object(Layout::line);
  json.key("median_abs_error_percent").ratio(100 * errors.median);
  json.key("p90_abs_error_percent").ratio(100 * errors.p90);
  json.key("sizes").count(errors.sizes);
  json.end_object();
}

void write_constants(JsonWriter& json, const Fit& fit) {
  json.key("constants").begin_array();
  for (const FittedConstant& fitted : fit.constants) {
    const CostConstant& row = *fitted.constant;
    json.begin_object(Layout::line);
    json.key("name").string(row.name);
    if (!row.element.empty()) json.key("element").string(row.element);
    json.key("unit").string(row.unit);
    json.key("before").number(fitted.before);
    json.key("value").number(fitted.value);
    json.key("low").number(fitted.low);
    json.key("high").number(fitted.high);
    json.end_object();
  }
  json.end_array();
}

void write_residuals(JsonWriter& json, const Fit& fit) {
  json.key("residuals").begin_array();
  for (const FitResidual& row : fit.residuals) {
    json.begin_object(Layout::line);
    json.key("source").string(fit.used[row.log]);
    json.key("nodes").integer(row.shape.nodes);
    json.key("gpus_per_node").integer(row.shape.gpus_per_node);
    json.key("size_bytes").integer(row.size.count());
    json.key("algorithm").string(name_of(row.choice.algorithm));
    json.key("protocol").string(name_of(row.choice.protocol));
    json.key("measured_us").ratio(row.measured_us);
    json.key("modelled_us").ratio(row.modelled_us);
    json.key("calibrated_us").ratio(row.calibrated_us);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string calibration_report_json(const CalibrationReport& report) {
  const Fit& fit = report.fit;
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.calibration/1");
  json.key("cluster").string(report.cluster);
  json.key("output").string(report.output);
  json.key("read").strings(report.read);
  write_errors(json, "calibrated", errors_of(fit.residuals, kSmallestJudged));
  write_errors(json, "model_alone", errors_of(fit.residuals, kSmallestJudged, true));
  json.key("shapes_left_out").begin_array();
  for (const ShapeLeftOut& one : report.shapes_left_out) {
    json.begin_object();
    json.key("nodes").integer(one.shape.nodes);
    json.key("gpus_per_node").integer(one.shape.gpus_per_node);
    write_errors(json,
                 one.by_specification ? "predicted_by_specification" : "predicted_from_others",
                 errors_of(one.residuals, kSmallestJudged));
    json.end_object();
  }
  json.end_array();
  json.key("logs").begin_array();
  for (const CalibratedShape& log : fit.calibration.shapes) {
    json.begin_object(Layout::line);
    json.key("source").string(log.source);
    json.key("nodes").integer(log.nodes);
    json.key("gpus_per_node").integer(log.gpus_per_node);
    if (log.nccl) json.key("nccl").string(to_string(*log.nccl));
    if (log.published) json.key("published").boolean(true);
    json.end_object();
  }
  json.end_array();
  json.key("left_out").begin_array();
  for (const LogLeftOut& log : fit.left_out) {
    json.begin_object(Layout::line);
    json.key("source").string(log.source);
    json.key("reason").string(log.reason);
    json.end_object();
  }
  json.end_array();
  write_constants(json, fit);
  write_residuals(json, fit);
  json.key("model_misses").strings(fit.model_misses);
  json.key("notes").strings(fit.notes);
  json.key("warnings").strings(report.warnings);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
