#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/gloo_calibration_report.hpp"

namespace ddpsim {
namespace {

using GlooLayout = JsonWriter::Layout;

void write_gloo_errors(JsonWriter& json, std::string_view key, const FitErrors& errors) {
  json.key(key).begin_object(GlooLayout::line);
  json.key("median_abs_error_percent").ratio(100 * errors.median);
  json.key("p90_abs_error_percent").ratio(100 * errors.p90);
  json.key("times").count(errors.sizes);
  json.end_object();
}

void write_gloo_constants(JsonWriter& json, const GlooFit& fit) {
  json.key("constants").begin_array();
  for (const GlooFitted& one : fit.constants) {
    json.begin_object(GlooLayout::line);
    json.key("name").string(one.constant->name);
    json.key("told_by_logs").boolean(one.told);
    json.key("before").number(one.before);
    json.key("value").number(one.value);
    if (one.told) json.key("low").number(one.low);
    if (one.told) json.key("high").number(one.high);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string gloo_calibration_json(const GlooCalibrationReport& report) {
  const GlooFit& fit = report.fit;
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.calibration/1");
  json.key("backend").string("gloo");
  json.key("cluster").string(report.cluster);
  json.key("output").string(report.output);
  json.key("read").strings(report.read);
  write_gloo_errors(json, "uncalibrated", errors_of(fit.residuals, &GlooResidual::assumed_us));
  write_gloo_errors(json, "calibrated", errors_of(fit.residuals));
  write_gloo_errors(json, "sizes_left_out", errors_of(fit.residuals, &GlooResidual::left_out_us));
  json.key("shapes_left_out").begin_array();
  for (const GlooShapeLeftOut& one : fit.ranks_left_out) {
    json.begin_object();
    json.key("nodes").integer(one.shape.nodes);
    json.key("gpus_per_node").integer(one.shape.gpus_per_node);
    write_gloo_errors(json, "predicted_from_others", one.errors);
    json.end_object();
  }
  json.end_array();
  json.key("left_out").begin_array();
  for (const LogLeftOut& log : fit.left_out) {
    json.begin_object(GlooLayout::line);
    json.key("source").string(log.source);
    json.key("reason").string(log.reason);
    json.end_object();
  }
  json.end_array();
  write_gloo_constants(json, fit);
  json.key("residuals").begin_array();
  for (const GlooResidual& row : fit.residuals) {
    json.begin_object(GlooLayout::line);
    json.key("source").string(fit.used[row.log]);
    json.key("nodes").integer(row.shape.nodes);
    json.key("gpus_per_node").integer(row.shape.gpus_per_node);
    json.key("size_bytes").integer(row.size.count());
    json.key("together").count(row.together);
    json.key("measured_us").ratio(row.measured_us);
    json.key("uncalibrated_us").ratio(row.assumed_us);
    json.key("calibrated_us").ratio(row.calibrated_us);
    json.key("left_out_us")
        .ratio(row.left_out_us > 0 ? std::optional(row.left_out_us) : std::nullopt);
    json.end_object();
  }
  json.end_array();
  json.key("warnings").strings(report.warnings);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
