#include "fsdp2_plan.hpp"

#include <utility>

namespace ddpsim {

Fsdp2Plan plan_fsdp2(const Job& job, const Fsdp2& scheme) {
  const ProcessGroups group(job, scheme.group.value_or(job.cluster().ranks()));
  const ProcessGroups again(job, scheme.reshard_to.value_or(group.ranks()));
  Fsdp2Plan plan{.scheme = scheme,
                 .all = job.cluster().ranks(),
                 .units = units_called(job.workload(), scheme.wrap),
                 .planned = {},
                 .ranks = group.ranks(),
                 .again = again.ranks(),
                 .stepped = 0,
                 .shards = {}};
  const std::vector<bool> written = gradients_written(job.workload());
  const auto sizes_of = [&](const Unit& unit) {
    return row_sharded_unit(job.workload(), unit, plan.ranks, scheme.param_dtype,
                            scheme.reduce_dtype);
  };
  Bytes whole;
  for (const Unit& unit : plan.units) {
    UnitSizes sizes = sizes_of(unit);
    const UnitSizes steps = sizes_of(trained_of(job.workload(), unit));
    whole += steps.whole;
    plan.shards += steps.stored;
    // Only parameters that have a gradient are reduced.
    Unit reduced = unit;
    std::erase_if(reduced.parameters, [&](std::size_t p) { return !written[p]; });
    sizes.gradient = sizes_of(reduced).gradient;
    sizes.reduced = sizes_of(reduced).reduced;
    Fsdp2Group planned{
        plan_unit(job.workload(), unit, sizes, {scheme.param_dtype, scheme.reduce_dtype}, group,
                  CollectiveKind::reduce_scatter),
        {},
        {},
        unit.parameters.size()};
    for (const std::size_t parameter : reduced.parameters) {
      Unit alone = unit;
      alone.parameters = {parameter};
      planned.shards.push_back(sizes_of(alone).stored);
    }
    const bool reshards = unit.module.empty() ? scheme.reshard_root
                                              : scheme.reshard_after_forward || scheme.reshard_to;
    if (reshards)
      planned.gather_again = named(again.within(CollectiveKind::all_gather, sizes.gathered),
                                   unit.name(), StepPhase::backward);
    plan.planned.push_back(std::move(planned));
  }
  plan.stepped = share_of(plan.shards, whole);
  return plan;
}

}  // namespace ddpsim
