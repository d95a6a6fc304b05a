#include "cannot_schedule.hpp"

#include <fmt/format.h>

#include <variant>

#include "flow_planner.hpp"
#include "rank_classes.hpp"
#include "scheme_of_job.hpp"

namespace ddpsim {

std::optional<std::string> cannot_schedule(const Job& job) {
  const Scheme& scheme = job.options().scheme;
  // Only DDP reduces sparse gradients and joins ranks that write them in different orders.
  if (std::holds_alternative<Ddp>(scheme)) return std::nullopt;
  const Workload& workload = job.workload();
  for (const Parameter& parameter : workload.parameters)
    if (parameter.sparse_gradient && !parameter.ignored)
      return fmt::format(
          "{} has a sparse gradient. Except for DDP, schemes are simulated only with dense "
          "gradients",
          parameter.name);
  for (const RankRecording& rank : workload.ranks)
    if (!same_order(rank, workload))
      return fmt::format(
          "rank {} wrote its gradients in another order, so the collectives of --scheme "
          "{} would not match. Give the recording of one rank",
          rank.rank, name_of(scheme));
  if (auto problem = scheme_rules(job).cannot_simulate(job)) return problem;
  if (job.network() != nullptr && job.network()->has_background() &&
      !facts_of(scheme).one_at_a_time)
    return fmt::format(
        "--background: with it, only one collective at a time is simulated, but --scheme "
        "{} has several in flight",
        name_of(scheme));
  return std::nullopt;
}

}  // namespace ddpsim
