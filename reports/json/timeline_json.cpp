#include <algorithm>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {
namespace {

using Notes = std::vector<std::pair<std::string, std::string>>;

/// An object holds a key once: texts under the same key are joined, in order.
Notes merged(const Notes& notes) {
  Notes result;
  for (const auto& [key, text] : notes) {
    const auto same = std::find_if(result.begin(), result.end(),
                                   [&name = key](const auto& note) { return note.first == name; });
    if (same == result.end()) {
      result.emplace_back(key, text);
    } else {
      same->second += "; " + text;
    }
  }
  return result;
}

void write_span(JsonWriter& json, const Span& span) {
  json.begin_object(JsonWriter::Layout::line);
  json.key("track").string(name_of(span.track));
  json.key("name").string(span.name);
  json.key("bucket").count(span.bucket);
  json.key("start_us").time(span.start);
  json.key("end_us").time(span.end);
  if (span.parameters) {
    json.key("parameters").begin_object();
    json.key("first").string(span.parameters->first);
    json.key("last").string(span.parameters->last);
    json.key("count").integer(span.parameters->count);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::string timeline_json(const Timeline& timeline) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.timeline/1");
  json.key("ranks").begin_array();
  for (const RankTimeline& rank : timeline.ranks) {
    json.begin_object();
    json.key("rank").integer(rank.rank);
    if (!rank.gpu.empty()) json.key("gpu").string(rank.gpu);
    json.key("spans").begin_array();
    for (const Span& span : rank.spans) write_span(json, span);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.key("clock").string(timeline.clock);
  json.key("provenance").begin_object();
  for (const auto& [key, text] : merged(timeline.provenance)) json.key(key).string(text);
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
