// Describes collectives: their kind, size and times.
#include <algorithm>
#include <vector>

#include "summary.hpp"

namespace ddpsim {
namespace {

/// Times at which rank 0 reached its events.
std::vector<TimePoint> events_of(const RankPrograms& programs, const Execution::Rank& times) {
  std::vector<TimePoint> reached(programs.events);
  const auto note = [&](const Program& program, const std::vector<OperationTime>& at) {
    for (std::size_t i = 0; i < program.size(); ++i)
      if (program[i].action == Action::record) reached[program[i].event] = at[i].end;
  };
  note(programs.host, times.host);
  note(programs.compute, times.compute);
  note(programs.communication, times.communication);
  for (std::size_t i = 0; i < programs.others.size(); ++i)
    note(programs.others[i], times.others[i]);
  return reached;
}

}  // namespace

std::string_view name_of(StepPhase phase) {
  switch (phase) {
    case StepPhase::forward:
      break;
    case StepPhase::backward:
      return "backward";
    case StepPhase::optimizer:
      return "optimizer";
  }
  return "forward";
}

std::vector<CollectiveResult> describe_collectives(const PlannedStep& planned,
                                                   const Execution& execution) {
  const std::vector<TimePoint> events =
      events_of(planned.schedule.ranks.front(), execution.ranks.front());
  std::vector<CollectiveResult> results;
  for (std::size_t i = 0; i < planned.awaited.size(); ++i) {
    const AwaitedEvents& awaited = planned.awaited[i];
    if (awaited.ready.empty()) continue;  // not launched on rank 0
    const StepCollective& collective = planned.collectives[i];
    const CollectiveTime& times = execution.collectives[i];
    CollectiveResult result{.kind = collective.scheduled.kind,
                            .unit = collective.unit,
                            .bytes = collective.scheduled.size,
                            .ready = {},
                            .launch = events[awaited.launched],
                            .start = times.starts.front(),
                            .last_arrival = times.last_arrival,
                            .end = times.end,
                            .phase = collective.phase,
                            .choice = collective.choice};
    for (const EventId event : awaited.ready) result.ready = std::max(result.ready, events[event]);
    results.push_back(std::move(result));
  }
  std::ranges::stable_sort(results, {}, &CollectiveResult::launch);
  return results;
}

}  // namespace ddpsim
