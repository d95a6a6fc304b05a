#include "timeline_difference_report.hpp"

namespace ddpsim {
namespace {

void write_time(JsonWriter& json, const char* key, const std::optional<Extent>& extent,
                TimePoint Extent::*edge) {
  json.key(key);
  if (extent) {
    json.time((*extent).*edge);
  } else {
    json.null();
  }
}

}  // namespace

void write_difference(JsonWriter& json, const TimelineDifference& difference) {
  json.begin_object();
  json.key("source").string(difference.source);
  json.key("rank").integer(difference.rank);
  json.key("predicted_us").time(difference.predicted.end - difference.predicted.start);
  json.key("measured_us").time(difference.measured.end - difference.measured.start);
  json.key("spans").begin_array();
  for (const SpanDifference& row : difference.spans) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("track").string(name_of(row.track));
    json.key("name").string(row.name);
    json.key("bucket").count(row.bucket);
    write_time(json, "predicted_start_us", row.predicted, &Extent::start);
    write_time(json, "measured_start_us", row.measured, &Extent::start);
    write_time(json, "predicted_end_us", row.predicted, &Extent::end);
    write_time(json, "measured_end_us", row.measured, &Extent::end);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace ddpsim
