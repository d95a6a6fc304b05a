#include "fsdp1_plan.hpp"

#include <algorithm>
#include <utility>

namespace ddpsim {

Fsdp1Plan plan_fsdp1(const Job& job, Fsdp1 scheme) {
  scheme.strategy = strategy_in_force(scheme, job.cluster().ranks());
  const bool hybrid = is_hybrid(scheme.strategy);
  const int all = job.cluster().ranks();
  const ProcessGroups group(job,
                            hybrid ? scheme.group.value_or(job.cluster().gpus_per_host()) : all);
  Fsdp1Plan plan{.scheme = scheme,
                 .units = units_called(job.workload(), scheme.wrap),
                 .planned = {},
                 .ranks = scheme.strategy == ShardingStrategy::no_shard ? 1 : group.ranks(),
                 .division = divided_in_two(all),
                 .stepped = 0,
                 .steps = {}};
  const std::vector<bool> written = gradients_written(job.workload());
  Bytes whole;
  for (const Unit& unit : plan.units) {
    const UnitSizes sizes = flat_unit(
        job.workload(), unit,
        {.shards = plan.ranks, .group = group.ranks(), .use_orig_params = scheme.use_orig_params},
        scheme.param_dtype, scheme.reduce_dtype);
    const FlatLayout of_shards = {.shards = plan.ranks, .group = plan.ranks};
    const UnitSizes steps = flat_unit(job.workload(), trained_of(job.workload(), unit), of_shards,
                                      scheme.param_dtype, scheme.reduce_dtype);
    const bool all_train = steps.whole == sizes.whole;
    whole += steps.whole;
    plan.steps += all_train ? sizes.stored : steps.stored;
    plan.planned.push_back(
        {plan_unit(job.workload(), unit, sizes, {scheme.param_dtype, scheme.reduce_dtype}, group,
                   plan.shards() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce),
         std::ranges::any_of(unit.parameters, [&](std::size_t p) { return written[p]; })});
  }
  plan.stepped = share_of(plan.steps, whole);
  return plan;
}

std::vector<UnitSpan> reached_through_views(const Workload& workload,
                                            const std::vector<Unit>& units,
                                            std::vector<UnitSpan> spans,
                                            std::size_t last_gradient) {
  std::size_t first = workload.parameters.size();  // parameter of a flat one that trains
  for (const Unit& unit : units)
    if (!unit.parameters.empty() && !trained_of(workload, unit).parameters.empty())
      first = std::min(first, unit.parameters.front());
  std::vector<std::size_t> late;
  for (std::size_t u = 0; u < units.size(); ++u)
    if (!spans[u].reached && units[u].parameters.front() > first) late.push_back(u);
  std::ranges::stable_sort(late, {}, [&](std::size_t u) { return -spans[u].forward_begin; });
  double order = 1;
  for (const std::size_t u : late) {
    spans[u].reached = true;
    spans[u].first = spans[u].last = last_gradient;
    spans[u].first_share = ++order;
    spans[u].last_share = ++order;
  }
  for (std::size_t u = 0; u < units.size(); ++u)
    if (!late.empty() && units[u].module.empty()) spans[u].last_share = ++order;
  return spans;
}

}  // namespace ddpsim
