#include "schedule_step.hpp"

#include <variant>

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

PlannedStep schedule_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind,
                          const std::vector<RankState>& states) {
  PlannedStep step = std::visit(Scheduler{job, buckets, kind, states}, job.options().scheme);
  // What goes to servers fills its links by itself.
  const bool by_servers = facts_of(job.options().scheme).by_servers;
  if (step.schedule.in_flight.lanes() == 1 && !by_servers) {
    step.schedule.in_flight.threads = collectives_at_a_time(job);
    step.schedule.in_flight.to_fill = collectives_to_fill(job);
  }
  return step;
}

}  // namespace ddpsim
