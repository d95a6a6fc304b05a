#include "cannot_schedule.hpp"

#include <fmt/format.h>

#include <variant>

#include "flow_planner.hpp"
#include "rank_classes.hpp"
#include "scheme_of_job.hpp"

namespace ddpsim {

std::optional<std::string> cannot_schedule(const Job& job) {
  const Scheme& scheme = job.options().scheme;
  // DDP alone reduces sparse gradients, and joins ranks that write in other orders.
  if (std::holds_alternative<Ddp>(scheme)) return std::nullopt;
  const Workload& workload = job.workload();
  for (const Parameter& parameter : workload.parameters)
    if (parameter.sparse_gradient && !parameter.ignored)
      return fmt::format(
          "{} has a sparse gradient: of other schemes than DDP dense ones alone are "
          "simulated",
          parameter.name);
  for (const RankRecording& rank : workload.ranks)
    if (!same_order(rank, workload))
      return fmt::format(
          "rank {} wrote its gradients in another order: the collectives of --scheme "
          "{} would not meet. Give the recording of one rank",
          rank.rank, name_of(scheme));
  if (auto problem = scheme_rules(job).cannot_simulate(job)) return problem;
  if (job.network() != nullptr && job.network()->has_background() &&
      !facts_of(scheme).one_at_a_time)
    return fmt::format(
        "--background: beside it one collective at a time is simulated, and --scheme "
        "{} has several in flight",
        name_of(scheme));
  return std::nullopt;
}

}  // namespace ddpsim
