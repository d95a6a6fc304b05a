#include "scaled_recording.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

bool has_host(const Recorded& recorded) {
  return !recorded.host_ready.empty() || recorded.launch_waits != PartTimes() ||
         (recorded.launches && recorded.launches->cost);
}

void scale(Duration& time, double factor) {
  time = time.scaled(factor);
}
void scale(std::optional<Duration>& time, double factor) {
  if (time) scale(*time, factor);
}
void scale(PartTimes& times, double factor) {
  for (Duration* time : {&times.forward, &times.backward, &times.optimizer}) scale(*time, factor);
}

void scale_backward(Backward& backward, double factor) {
  scale(backward.duration, factor);
  for (ReadyEvent& event : backward.ready) {
    scale(event.at, factor);
    scale(event.copied_at, factor);
  }
}

void scale_recorded(Recorded& recorded, double factor) {
  const std::optional<Duration> between = stall(recorded);
  RecordedWith& with = recorded.recorded_with;
  for (std::optional<Duration>* time : {&recorded.forward, &recorded.optimizer, &with.exposed,
                                        &with.finalize, &with.buffer_broadcast})
    scale(*time, factor);
  if (recorded.backward) scale_backward(*recorded.backward, factor);
  for (RecordedCollective& collective : with.collectives)
    for (Duration* time : {&collective.launch, &collective.start, &collective.duration})
      scale(*time, factor);
  for (std::vector<Duration>* times : {&recorded.host_ready, &recorded.host_held})
    for (Duration& time : *times) scale(time, factor);
  if (recorded.launches && recorded.launches->cost) scale(*recorded.launches->cost, factor);
  scale(recorded.launch_waits, factor);
  if (recorded.busy) scale(*recorded.busy, factor);
  if (!between) return;
  // With zero here, the remainder of the period is the time of the parts.
  recorded.iteration = Duration();
  const Duration pause = *between > Duration() ? *between : between->scaled(factor);
  recorded.iteration = pause - stall(recorded).value_or(Duration());
}

}  // namespace

bool has_recorded_host(const Workload& workload) {
  return has_host(workload) || std::ranges::any_of(workload.ranks, has_host);
}

Workload scaled_recording(Workload workload, double factor) {
  scale_recorded(workload, factor);
  for (RankRecording& rank : workload.ranks) {
    scale_recorded(rank, factor);
    scale(rank.offset, factor);
  }
  return workload;
}

}  // namespace ddpsim
