#include "planned_step.hpp"

#include <algorithm>

#include "reducer.hpp"
#include "schemes.hpp"

namespace ddpsim {
namespace {

struct Scheduler {
  const Job& job;
  const std::vector<Bucket>& buckets;
  const StepKind& kind;
  const std::vector<RankState>& states;

  PlannedStep operator()(const Ddp& /*scheme*/) const {
    return schedule_reducer(job, buckets, kind, states);
  }
  PlannedStep operator()(const NaiveAllReduce& scheme) const {
    return schedule_naive(job, scheme, kind, states);
  }
  PlannedStep operator()(const Fsdp1& scheme) const {
    return schedule_fsdp1(job, scheme, kind, states);
  }
  PlannedStep operator()(const Fsdp2& scheme) const {
    return schedule_fsdp2(job, scheme, kind, states);
  }
  PlannedStep operator()(const Zero& scheme) const {
    return scheme.stage == 3 ? schedule_zero3(job, scheme, kind, states)
                             : schedule_zero12(job, scheme, kind, states);
  }
  PlannedStep operator()(const MegatronOptimizer& scheme) const {
    return schedule_megatron(job, scheme, kind, states);
  }
  PlannedStep operator()(const DataParallel& scheme) const {
    return schedule_data_parallel(job, scheme, kind, states);
  }
  PlannedStep operator()(const ParameterServer& scheme) const {
    return schedule_parameter_server(job, scheme, kind, states);
  }
  /// What a compiled backward makes of gradients is in the recording.
  PlannedStep operator()(const Compiled& scheme) const {
    if (scheme.optimize_ddp == OptimizeDdp::python_reducer)
      return schedule_python_reducer(job, kind, states);
    return schedule_reducer(job, buckets, kind, states);
  }
  PlannedStep operator()(const PeriodicAveraging& /*scheme*/) const {
    return schedule_averaging(job, kind, states);
  }
  PlannedStep operator()(const SlowMo& /*scheme*/) const {
    return schedule_slowmo(job, kind, states);
  }
  /// Its optimizer is planned with the reducer's step.
  PlannedStep operator()(const ZeroRedundancy& /*scheme*/) const {
    return schedule_reducer(job, buckets, kind, states);
  }
};

}  // namespace

void add_class(const Job& job, const RankClass& alike, RankStep written, PlannedStep& step) {
  Schedule& schedule = step.schedule;
  if (schedule.ranks.empty()) {
    if (recorded_by(job.workload(), alike.rank).launches) step.host = written.host;
    step.ready_operation = std::move(written.ready_operation);
    step.launch_operation = std::move(written.launch_operation);
    step.slowdown = alike.state ? alike.state->slowdown : 1;
    step.recorded_broadcast = written.recorded_broadcast;
    step.recorded_copies = written.recorded_copies;
    step.recorded_waits = written.recorded_waits;
    step.accumulated = written.accumulated;
    step.copies_in_stretches = written.copies_in_stretches;
    step.optimizer_left_out = written.optimizer_left_out;
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

PlannedStep schedule_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind,
                          const std::vector<RankState>& states) {
  PlannedStep step = std::visit(Scheduler{job, buckets, kind, states}, job.options().scheme);
  // What goes to servers fills its links by itself.
  const bool to_servers = std::holds_alternative<ParameterServer>(job.options().scheme);
  if (step.schedule.in_flight.lanes() == 1 && !to_servers) {
    step.schedule.in_flight.threads = collectives_at_a_time(job);
    step.schedule.in_flight.to_fill = collectives_to_fill(job);
  }
  return step;
}

}  // namespace ddpsim
