// Which algorithm, protocol and channels NCCL chooses for every size of a collective.
#pragma once

#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

struct ChoiceRange {
  Bytes from;
  Bytes to;  ///< the last one of the range
  CollectiveChoice choice;
};

/// Returns ranges from 0 to `largest` without gaps; neighbours differ. Sizes between two equal
/// choices that are less than a quarter apart are assumed to get the same choice.
std::vector<ChoiceRange> choice_ranges(CollectiveKind kind, const Cluster& cluster,
                                       const CollectiveTuning& tuning, Bytes largest);

}  // namespace ddpsim
