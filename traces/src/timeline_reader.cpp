#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/traces/timeline_file.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kTimelineSchema = "ddpsim.timeline/1";
constexpr std::int64_t kMostDrawnRanks = 1'000'000;
constexpr std::int64_t kMostBuckets = 1'000'000;
constexpr std::int64_t kMostParametersHeld = 1'000'000;
/// The latest time that a timeline may hold, which is also the limit in workload files. Sums of
/// such times fit in 63 bits of picoseconds.
constexpr Duration kLatest = Duration::microseconds(1e12);

TimePoint instant(const Cursor& cursor) {
  const Duration since_zero = cursor.microseconds(true);
  if (since_zero > kLatest || since_zero < -kLatest)
    cursor.fail("this time is out of range", "Expected at most 1e12 microseconds (11 days)");
  return TimePoint(since_zero);
}

Track track_of(const std::string& name) {
  if (name == "host") return Track::host;
  return name == "compute" ? Track::compute : Track::communication;
}

SpanParameters read_parameters(const Cursor& entry) {
  const Object object = entry.object({"first", "last", "count"});
  return {.first = object.required("first").string(),
          .last = object.required("last").string(),
          .count = object.required("count").integer(1, kMostParametersHeld)};
}

Span read_span(const Cursor& entry) {
  const Object object =
      entry.object({"track", "name", "bucket", "start_us", "end_us", "parameters"});
  Span span;
  if (const auto bucket = object.optional("bucket"))
    span.bucket = static_cast<std::size_t>(bucket->integer(0, kMostBuckets));
  span.track = track_of(object.required("track").choice({"host", "compute", "communication"}));
  span.name = object.required("name").string();
  span.start = instant(object.required("start_us"));
  const Cursor end = object.required("end_us");
  span.end = instant(end);
  if (span.end < span.start)
    end.fail("the span ends before it starts", "Expected end_us >= start_us");
  if (const auto parameters = object.optional("parameters"))
    span.parameters = read_parameters(*parameters);
  return span;
}

RankTimeline read_rank(const Cursor& entry) {
  const Object object = entry.object({"rank", "gpu", "spans"});
  RankTimeline rank;
  rank.rank = static_cast<int>(object.required("rank").integer(0, kMostDrawnRanks));
  if (const auto gpu = object.optional("gpu")) rank.gpu = gpu->choice({"slowest", "usual"});
  for (const Cursor& span : object.required("spans").array()) rank.spans.push_back(read_span(span));
  std::stable_sort(rank.spans.begin(), rank.spans.end(),
                   [](const Span& a, const Span& b) { return a.start < b.start; });
  return rank;
}

void check_schema(const Cursor& root) {
  const auto schema = root.free_object().optional("schema");
  const std::string text = schema ? schema->string() : "";
  if (text == kTimelineSchema) return;
  const std::string hint = fmt::format("Expected a timeline: \"schema\": \"{}\"", kTimelineSchema);
  if (!schema) root.fail("this is not a timeline", hint);
  schema->fail(fmt::format("{} is no timeline", in_quotes(text)), hint);
}

}  // namespace

Timeline parse_timeline(std::string_view text, const std::string& file) {
  const Document document = Document::parse(text, file);
  check_schema(document.root());
  const Object root = document.root().object({"schema", "ranks", "clock", "provenance"});
  Timeline timeline;
  if (const auto clock = root.optional("clock")) timeline.clock = clock->string();
  if (const auto provenance = root.optional("provenance")) {
    for (const auto& [key, value] : provenance->free_object().items())
      timeline.provenance.emplace_back(key, value.string());
  }
  std::set<int> seen;
  for (const Cursor& entry : root.required("ranks").array()) {
    timeline.ranks.push_back(read_rank(entry));
    if (!seen.insert(timeline.ranks.back().rank).second)
      entry.fail(fmt::format("rank {} appears twice", timeline.ranks.back().rank));
  }
  return timeline;
}

}  // namespace ddpsim
