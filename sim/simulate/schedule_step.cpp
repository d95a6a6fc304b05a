#include "schedule_step.hpp"

#include "scheme_of_job.hpp"

namespace ddpsim {

PlannedStep schedule_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind,
                          const std::vector<RankState>& states) {
  PlannedStep step =
      scheme_rules(job).schedule({.job = job, .buckets = buckets, .kind = kind, .states = states});
  // Transfers to parameter servers fill their links by themselves.
  const bool by_servers = facts_of(job.options().scheme).by_servers;
  if (step.schedule.in_flight.lanes() == 1 && !by_servers) {
    step.schedule.in_flight.threads = collectives_at_a_time(job);
    step.schedule.in_flight.to_fill = collectives_to_fill(job);
  }
  return step;
}

}  // namespace ddpsim
