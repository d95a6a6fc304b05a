// What FullyShardedDataParallel and fully_shard plan of a unit alike: its types, its sizes, and what they send of it.
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
  StepCollective gather;  ///< of forward
  StepCollective reduce;
  std::optional<StepCollective> between;  ///< groups that hold the same shards
};

/// The types that a scheme asks for; absent: as stored, and as computed in.
struct MixedTypes {
  std::optional<Dtype> param;
  std::optional<Dtype> reduce;
};

/// `reduction`: of gradients within a group.
ShardedUnit plan_unit(const Workload& workload, const Unit& unit, const UnitSizes& sizes,
                      const MixedTypes& types, const ProcessGroups& group,
                      CollectiveKind reduction);

}  // namespace ddpsim
