#include "ddpsim/reports/reports.hpp"
#include "json_parts.hpp"

namespace ddpsim {

void write_advice_row(JsonWriter& json, const AdviceRow& row) {
  json.begin_object();
  json.key("levers").begin_array(JsonWriter::Layout::line);
  for (const std::string& setting : row.settings) json.string(setting);
  json.end_array();
  json.key("line").string(row.line);
  json.key("changes_numerics").boolean(row.changes_numerics);
  json.key("changes_batch").boolean(row.changes_batch);
  json.key("note").string(row.note);
  if (row.error.empty()) {
    json.key("worth").boolean(row.worth);
    json.key("measure_first_because").string_or_null(row.doubt);
    json.key("gain_us");
    write_gain(json, row.gain);
    json.key("expected_gain_us").time(row.expected);
    json.key("regret_us").time(row.regret);
    json.key("iteration_us").time(row.iteration);
    json.key("memory_bytes").integer(row.memory_bytes);
  } else {
    json.key("error").string(row.error);
  }
  json.end_object();
}

std::string advice_json(const AdviceReport& report) {
  const Advice& advice = report.advice;
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.advice/1");
  described_setting().write_members(json, report.context);
  write_budget(json, report.step.budget);
  described_speed().write_members(json, report.step.speed);
  json.key("iteration_us").time(advice.iteration);
  json.key("measurable_us").time(advice.measurable);
  json.key("rows").begin_array();
  for (const AdviceRow& row : advice.rows) write_advice_row(json, row);
  json.end_array();
  described_trust().write_members(json, report.context);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
