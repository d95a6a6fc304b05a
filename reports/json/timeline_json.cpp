#include <algorithm>

#include "ddpsim/reports/reports.hpp"
#include "described_documents.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;
using Notes = std::vector<std::pair<std::string, std::string>>;

/// Joins texts under the same key in order, because an object may hold a key only once.
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

const Described<SpanParameters>& described_span_parameters() {
  static const auto described =
      Described<SpanParameters>("SpanParameters", "parameters whose gradients a span holds",
                                Layout::line)
          .text("first", &SpanParameters::first,
                "the parameter whose gradient is written first, by name")
          .text("last", &SpanParameters::last,
                "the parameter whose gradient is written last, by name")
          .integer("count", &SpanParameters::count, "number of parameters");
  return described;
}

const Described<Span>& described_span() {
  static const auto described =
      Described<Span>("Span", "something that runs on a stream from one time to another",
                      Layout::line)
          .word("track", &Span::track, all_up_to(Track::communication),
                "the stream that runs the span")
          .text("name", &Span::name, "what runs, such as forward or all_reduce")
          .integer("bucket", &Span::bucket,
                   "index of the bucket the span belongs to; null if it belongs to none")
          .time("start_us", &Span::start,
                "when the span starts, since the time zero that `clock` names")
          .time("end_us", &Span::end, "when the span ends, since the time zero that `clock` names")
          .object("parameters", &Span::parameters, described_span_parameters(),
                  "parameters whose gradients the span holds. Only if they are known",
                  Absent::left_out);
  return described;
}

const Described<RankTimeline>& described_rank() {
  static const auto described =
      Described<RankTimeline>("RankTimeline", "the streams of a rank")
          .integer("rank", &RankTimeline::rank, "the rank; each occurs once")
          .one_of("gpu", unless_empty(&RankTimeline::gpu), {"slowest", "usual"},
                  "whether the rank has the slowest GPU or one of usual speed. Only if GPUs of one "
                  "model differ in speed",
                  Absent::left_out)
          .list("spans", &RankTimeline::spans, described_span(),
                "spans of the rank, sorted by start");
  return described;
}

const Described<Timeline>& described_timeline() {
  static const auto described =
      Described<Timeline>("Timeline", "spans of one step, rank by rank")
          .constant("schema", "ddpsim.timeline/1", "which document this is")
          .list("ranks", &Timeline::ranks, described_rank(), "the ranks of the timeline")
          .text("clock", &Timeline::clock, "what time zero means; empty if not known")
          .texts_by_key(
              "provenance", [](const Timeline& of) { return merged(of.provenance); },
              "where the timeline is from. --measured compares workload, ranks, backend and "
              "bucket_bytes to refuse a step of another job");
  return described;
}

}  // namespace

const ObjectType& timeline_document() {
  return described_timeline().type();
}

std::string timeline_json(const Timeline& timeline) {
  return described_timeline().text_of(timeline);
}

}  // namespace ddpsim
