#include <fmt/format.h>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/validation_report.hpp"

namespace ddpsim {

std::string validation_json(const Validation& validation, const Figures& predicted,
                            const Figures& measured, const std::optional<ErrorLimit>& limit) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.validation/1");
  json.key("predicted").string(predicted.source);
  json.key("measured").string(measured.source);
  json.key("rows").begin_array();
  for (const ValidationRow& row : validation.rows) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("name").string(row.name);
    json.key("unit").string(row.unit);
    json.key("measured").ratio(row.measured);
    json.key("predicted").ratio(row.predicted);
    json.key("error_percent").ratio(row.error_percent);
    if (row.within_interval) json.key("within_interval").boolean(*row.within_interval);
    json.end_object();
  }
  json.end_array();
  json.key("median_abs_error_percent").ratio(validation.median_abs_error_percent);
  json.key("p90_abs_error_percent").ratio(validation.p90_abs_error_percent);
  json.key("worst_abs_error_percent").ratio(validation.worst_abs_error_percent);
  json.key("worst_name").string(validation.worst_name);
  json.key("own_calibration").boolean(validation.own_calibration);
  json.key("intervals").begin_object(JsonWriter::Layout::line);
  json.key("given").integer(validation.intervals);
  json.key("hold").integer(validation.within_intervals);
  json.end_object();
  if (validation.caps) {
    const CapValidation& caps = *validation.caps;
    json.key("caps").begin_object();
    json.key("chosen").string_or_null(caps.chosen);
    json.key("measured_best").string(caps.measured_best);
    json.key("regret_percent").ratio(caps.regret_percent);
    json.key("differing_pairs").integer(caps.pairs);
    json.key("right_sign").integer(caps.right_sign);
    json.end_object();
  }
  if (limit) {
    json.key("limit").begin_object(JsonWriter::Layout::line);
    json.key("max_error_percent").ratio(limit->percent);
    json.key("statistic").string(name_of(limit->statistic));
    json.key("exceeded").boolean(exceeds(validation, *limit));
    json.end_object();
  }
  json.key("notes").strings(validation.notes);
  json.key("warnings").begin_array();
  if (validation.own_calibration) json.string(kOwnCalibration);
  for (const Figures* side : {&predicted, &measured}) {
    for (const std::string& warning : side->warnings) json.string(warning);
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

std::string validation_csv(const Validation& validation) {
  std::string csv = "name,unit,measured,predicted,error_percent\n";
  for (const ValidationRow& row : validation.rows) {
    csv += fmt::format("{},{},{},{},{}\n", row.name, row.unit, ratio_token(row.measured),
                       ratio_token(row.predicted), ratio_token(row.error_percent));
  }
  return csv;
}

}  // namespace ddpsim
