#include "ddpsim/traces/recorded_timeline.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "ddpsim/sim/step/recorded_buckets.hpp"

namespace ddpsim {
namespace {

/// Parameters in the order in which this rank wrote their gradients.
std::vector<std::size_t> written(const Backward& backward) {
  std::vector<std::size_t> parameters;
  for (const ReadyEvent& event : backward.ready) parameters.push_back(event.parameter);
  return parameters;
}

RankTimeline drawn(const Recorded& recorded, const Workload& workload,
                   const std::vector<Bucket>& buckets, int rank, Duration offset) {
  RankTimeline timeline{.rank = rank, .spans = {}};
  TimePoint reached = TimePoint(offset);
  const auto add = [&](const char* name, std::optional<Duration> length) {
    if (!length) return;
    timeline.spans.push_back({.track = Track::compute,
                              .name = name,
                              .bucket = {},
                              .start = reached,
                              .end = reached + *length});
    reached = reached + *length;
  };
  add("forward", recorded.forward);
  const TimePoint backward = reached;
  if (recorded.backward) {
    add("backward", recorded.backward->duration);
    timeline.spans.back().parameters = span_parameters(workload, written(*recorded.backward));
  }
  const RecordedWith& with = recorded.recorded_with;
  reached = reached + with.exposed.value_or(Duration()) + with.finalize.value_or(Duration());
  add("optimizer", recorded.optimizer);
  for (std::size_t bucket = 0; bucket < with.collectives.size(); ++bucket) {
    const RecordedCollective& one = with.collectives[bucket];
    timeline.spans.push_back({.track = Track::communication,
                              .name = "all_reduce",
                              .bucket = bucket,
                              .start = backward + one.start,
                              .end = backward + one.start + one.duration});
    if (bucket < buckets.size())
      timeline.spans.back().parameters = span_parameters(workload, buckets[bucket].parameters);
  }
  std::ranges::stable_sort(timeline.spans, {}, &Span::start);
  return timeline;
}

}  // namespace

Timeline recorded_timeline(const Workload& workload) {
  Timeline timeline;
  timeline.clock = "recorded; zero is the start of forward of the representative rank";
  const std::vector<Bucket> buckets = cut_as_recorded(workload);
  if (workload.ranks.empty()) timeline.ranks.push_back(drawn(workload, workload, buckets, 0, {}));
  for (const RankRecording& rank : workload.ranks)
    timeline.ranks.push_back(drawn(rank, workload, buckets, rank.rank, rank.offset));
  if (!workload.name.empty()) timeline.provenance.emplace_back("workload", workload.name);
  const RecordedWith& with = workload.recorded_with;
  timeline.provenance.emplace_back(
      "ranks", with.world_size > 0 ? std::to_string(with.world_size) : "not known");
  if (with.wire || with.collectives.empty()) return timeline;  // otherwise bytes are the gradients'
  std::string bytes;
  for (const RecordedCollective& one : with.collectives)
    bytes += (bytes.empty() ? "" : " ") + std::to_string(one.bytes.count());
  timeline.provenance.emplace_back("bucket_bytes", std::move(bytes));
  return timeline;
}

}  // namespace ddpsim
