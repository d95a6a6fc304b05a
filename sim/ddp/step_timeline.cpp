#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "summary.hpp"

namespace ddpsim {
namespace {

/// Spans of one stream; neighbours of one purpose (gradient after gradient) are drawn as one span, so
/// that backward reads as backward. Copies between them are spans of their own.
void draw_stream(Track track, const Program& program, const std::vector<OperationTime>& times,
                 std::vector<Span>& spans) {
  std::optional<OperationKind> open;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Operation& operation = program[i];
    if (operation.action == Action::record || operation.action == Action::wait ||
        operation.action == Action::wait_until)
      continue;
    if (times[i].end <= times[i].start) continue;
    const bool labelled = operation.action == Action::collective ||
                          operation.purpose == OperationKind::launch ||
                          operation.purpose == OperationKind::copy_out;
    if (!labelled && open == operation.purpose && spans.back().end == times[i].start) {
      spans.back().end = times[i].end;
      continue;
    }
    Span span{.track = track,
              .name = std::string(name_of(operation.purpose)),
              .bucket = std::nullopt,
              .start = times[i].start,
              .end = times[i].end};
    if (operation.bucket >= 0) span.bucket = static_cast<std::size_t>(operation.bucket);
    spans.push_back(std::move(span));
    open = operation.purpose;
  }
}

/// Each gradient to the span of backward in which it was written.
void name_written(const std::vector<WrittenGradient>& gradients, const Workload& workload,
                  const std::vector<OperationTime>& times, std::vector<Span>& spans) {
  std::vector<Span*> backward;
  for (Span& span : spans)
    if (span.track == Track::compute && span.name == name_of(OperationKind::backward))
      backward.push_back(&span);
  if (backward.empty()) return;
  std::vector<std::vector<std::size_t>> held(backward.size());
  std::size_t at = 0;
  for (const WrittenGradient& gradient : gradients) {
    const TimePoint written = times[gradient.operation].end;
    while (at + 1 < backward.size() && backward[at + 1]->start < written) ++at;
    held[at].push_back(gradient.parameter);
  }
  for (std::size_t i = 0; i < backward.size(); ++i)
    backward[i]->parameters = span_parameters(workload, held[i]);
}

/// An all-reduce holds all gradients of its bucket.
void name_carried(const std::vector<Bucket>& buckets, const Workload& workload,
                  std::vector<Span>& spans) {
  for (Span& span : spans)
    if (span.track == Track::communication && span.bucket)
      span.parameters = span_parameters(workload, buckets[*span.bucket].parameters);
}

}  // namespace

Timeline draw_timeline(const ReducerSchedule& planned, const Execution& execution,
                       const Workload& workload, const std::vector<Bucket>& buckets) {
  Timeline timeline;
  timeline.clock = "simulated; zero is the start of forward on the compute stream of rank 0";
  for (std::size_t r = 0; r < planned.schedule.ranks.size(); ++r) {
    const RankPrograms& programs = planned.schedule.ranks[r];
    const Execution::Rank& times = execution.ranks[r];
    RankTimeline rank{.rank = programs.rank, .spans = {}};
    draw_stream(Track::host, programs.host, times.host, rank.spans);
    draw_stream(Track::compute, programs.compute, times.compute, rank.spans);
    draw_stream(Track::communication, programs.communication, times.communication, rank.spans);
    name_written(planned.gradients[r], workload, times.compute, rank.spans);
    name_carried(buckets, workload, rank.spans);
    std::stable_sort(rank.spans.begin(), rank.spans.end(),
                     [](const Span& a, const Span& b) { return a.start < b.start; });
    timeline.ranks.push_back(std::move(rank));
  }
  return timeline;
}

}  // namespace ddpsim
