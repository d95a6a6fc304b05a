#include "host_ahead.hpp"

namespace ddpsim {
namespace {

void take_out_waits(Recorded& recorded) {
  if (!recorded.busy || !recorded.backward) return;
  Backward& backward = *recorded.backward;
  const double share =
      backward.duration > Duration() ? recorded.busy->backward / backward.duration : 1;
  for (ReadyEvent& event : backward.ready) {
    event.at = event.at.scaled(share);
    if (event.copied_at) event.copied_at = event.copied_at->scaled(share);
  }
  backward.duration = recorded.busy->backward;
  if (recorded.forward) recorded.forward = recorded.busy->forward;
  if (recorded.optimizer) recorded.optimizer = recorded.busy->optimizer;
  recorded.host_ready.clear();
  recorded.host_held.clear();
  recorded.launch_waits = {};
  if (recorded.launches) recorded.launches->cost.reset();
  recorded.iteration.reset();
  recorded.recorded_with.exposed.reset();
  recorded.recorded_with.buffer_broadcast.reset();
  recorded.recorded_with.collectives.clear();
}

}  // namespace

Workload host_ahead(Workload workload) {
  take_out_waits(workload);
  for (RankRecording& rank : workload.ranks) take_out_waits(rank);
  return workload;
}

}  // namespace ddpsim
