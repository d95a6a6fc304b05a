// What FullyShardedDataParallel and fully_shard both plan for a unit: its types, its sizes and its
// collectives.
#pragma once

#include <optional>

#include "process_groups.hpp"
#include "step_collectives.hpp"
#include "unit_sizes.hpp"
#include "units.hpp"

namespace ddpsim {

struct ShardedUnit {
  Dtype stored;
  Dtype computed;
  Dtype reduced;
  UnitSizes sizes;
  StepCollective gather;  ///< in forward
  StepCollective reduce;
  std::optional<StepCollective> between;  ///< groups with the same shards
};

/// Types that a scheme requests. If absent: `param` is the stored type, and `reduce` is the type of
/// computation.
struct MixedTypes {
  std::optional<Dtype> param;
  std::optional<Dtype> reduce;
};

/// `reduction` is the collective that reduces gradients within a group.
ShardedUnit plan_unit(const Workload& workload, const Unit& unit, const UnitSizes& sizes,
                      const MixedTypes& types, const ProcessGroups& group,
                      CollectiveKind reduction);

}  // namespace ddpsim
