#include "described_difference.hpp"

namespace ddpsim {
namespace {

/// Start or end of a span; absent if that timeline does not have the span.
auto edge(std::optional<Extent> SpanDifference::*extent, TimePoint Extent::*which) {
  return [extent, which](const SpanDifference& row) {
    const auto& there = row.*extent;
    return there ? std::optional((*there).*which) : std::nullopt;
  };
}

const Described<SpanDifference>& described_measured_span() {
  static const auto described =
      Described<SpanDifference>("MeasuredSpan", "a span that both steps or one of them has",
                                JsonWriter::Layout::line)
          .word("track", &SpanDifference::track, all_up_to(Track::communication),
                "the stream that runs the span")
          .text("name", &SpanDifference::name, "what runs")
          .integer("bucket", &SpanDifference::bucket,
                   "index of the bucket; null if the span belongs to none")
          .time("predicted_start_us", edge(&SpanDifference::predicted, &Extent::start),
                "when the predicted span starts; null if only the measured step has it")
          .time("measured_start_us", edge(&SpanDifference::measured, &Extent::start),
                "when the measured span starts; null if only the predicted step has it")
          .time("predicted_end_us", edge(&SpanDifference::predicted, &Extent::end),
                "when the predicted span ends; null if only the measured step has it")
          .time("measured_end_us", edge(&SpanDifference::measured, &Extent::end),
                "when the measured span ends; null if only the predicted step has it");
  return described;
}

}  // namespace

const Described<TimelineDifference>& described_difference() {
  static const auto described =
      Described<TimelineDifference>("MeasuredStep",
                                    "a measured step compared with the simulated one")
          .text("source", &TimelineDifference::source, "the measured timeline, as given")
          .integer("rank", &TimelineDifference::rank, "the rank that is compared")
          .time(
              "predicted_us",
              [](const TimelineDifference& of) { return of.predicted.end - of.predicted.start; },
              "the predicted step, from its first span to its last")
          .time(
              "measured_us",
              [](const TimelineDifference& of) { return of.measured.end - of.measured.start; },
              "the measured step, from its first span to its last")
          .list("spans", &TimelineDifference::spans, described_measured_span(),
                "spans by predicted start, then those that were only measured");
  return described;
}

}  // namespace ddpsim
