#include "planned_step.hpp"

#include <algorithm>

namespace ddpsim {
void add_class(const Job& job, const RankClass& rank_class, RankStep written, PlannedStep& step) {
  Schedule& schedule = step.schedule;
  if (schedule.ranks.empty()) {
    if (recorded_by(job.workload(), rank_class.rank).launches) step.host = written.host;
    step.ready_operation = std::move(written.ready_operation);
    step.launch_operation = std::move(written.launch_operation);
    step.slowdown = rank_class.state ? rank_class.state->slowdown : 1;
    step.recorded_broadcast = written.recorded_broadcast;
    step.recorded_copies = written.recorded_copies;
    step.recorded_waits = written.recorded_waits;
    step.accumulated = written.accumulated;
    step.copies_in_intervals = written.copies_in_intervals;
    step.optimizer_left_out = written.optimizer_left_out;
    step.optimizer_on_host = written.optimizer_on_host;
    step.awaited = std::move(written.awaited);
    step.freed = std::move(written.freed);
  }
  schedule.start = std::min(schedule.start, TimePoint(written.start));
  schedule.ranks.push_back(std::move(written.programs));
  step.gradients.push_back(std::move(written.gradients));
}

void add_collectives(StepCollectives& collectives, PlannedStep& step) {
  step.collectives = collectives.take();
  step.schedule.collectives.reserve(step.collectives.size());
  for (const StepCollective& collective : step.collectives)
    step.schedule.collectives.push_back(collective.scheduled);
}

}  // namespace ddpsim
