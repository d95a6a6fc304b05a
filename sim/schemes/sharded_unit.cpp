#include "sharded_unit.hpp"

namespace ddpsim {

ShardedUnit plan_unit(const Workload& workload, const Unit& unit, const UnitSizes& sizes,
                      const MixedTypes& types, const ProcessGroups& group,
                      CollectiveKind reduction) {
  const Dtype stored = stored_type(workload, unit);
  const Dtype computed = types.param.value_or(stored);
  ShardedUnit planned{
      .stored = stored,
      .computed = computed,
      .reduced = types.reduce.value_or(computed),
      .sizes = sizes,
      .gather = named(group.within(CollectiveKind::all_gather, sizes.gathered), unit.name(),
                      StepPhase::forward),
      .reduce = named(group.within(reduction, sizes.reduced), unit.name(), StepPhase::backward),
      .between = {}};
  if (group.replicas() > 1)
    planned.between = named(group.all_reduce_between(sizes.reduced_shard(group.ranks())),
                            unit.name(), StepPhase::backward);
  return planned;
}

}  // namespace ddpsim
