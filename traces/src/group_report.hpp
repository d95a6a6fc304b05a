// What the joined ranks tell the user: clocks, waits, late ranks, missing data.
#pragma once

#include <vector>

#include "ddpsim/traces/rank_group.hpp"
#include "group_collectives.hpp"

namespace ddpsim {

struct JoinedRanks {
  const std::vector<RankImport>& ranks;  ///< ascending; each with its rank number
  bool numbered_by_place;                ///< the traces do not name their ranks
  const std::vector<GroupCollective>& collectives;
  const Clocks& clocks;
};

/// Adds sentences, warnings and provenance to `result`, whose workload is already joined.
void describe_group(const JoinedRanks& group, Imported& result);

}  // namespace ddpsim
