#include "ddpsim/traces/recorded_timeline.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace ddpsim {
namespace {

RankTimeline drawn(const Recorded& recorded, int rank, Duration offset) {
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
  if (recorded.backward) add("backward", recorded.backward->duration);
  const RecordedWith& with = recorded.recorded_with;
  reached = reached + with.exposed.value_or(Duration()) + with.finalize.value_or(Duration());
  add("optimizer", recorded.optimizer);
  std::size_t bucket = 0;
  for (const RecordedCollective& one : with.collectives)
    timeline.spans.push_back({.track = Track::communication,
                              .name = "all_reduce",
                              .bucket = bucket++,
                              .start = backward + one.start,
                              .end = backward + one.start + one.duration});
  std::ranges::stable_sort(timeline.spans, {}, &Span::start);
  return timeline;
}

}  // namespace

Timeline recorded_timeline(const Workload& workload) {
  Timeline timeline;
  timeline.clock = "recorded; zero is the start of forward of the representative rank";
  if (workload.ranks.empty()) timeline.ranks.push_back(drawn(workload, 0, {}));
  for (const RankRecording& rank : workload.ranks)
    timeline.ranks.push_back(drawn(rank, rank.rank, rank.offset));
  if (!workload.name.empty()) timeline.provenance.emplace_back("workload", workload.name);
  const RecordedWith& with = workload.recorded_with;
  timeline.provenance.emplace_back("ranks", std::to_string(with.world_size));
  if (with.wire || with.collectives.empty()) return timeline;  // of others bytes are gradients'
  std::string bytes;
  for (const RecordedCollective& one : with.collectives)
    bytes += (bytes.empty() ? "" : " ") + std::to_string(one.bytes.count());
  timeline.provenance.emplace_back("bucket_bytes", std::move(bytes));
  return timeline;
}

}  // namespace ddpsim
