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

/// From 0 to `largest` without gaps, neighbours differing. Choices between two that are alike and less than a quarter
/// apart are taken to be like them.
std::vector<ChoiceRange> choice_ranges(CollectiveKind kind, const Cluster& cluster,
                                       const CollectiveTuning& tuning, Bytes largest);

}  // namespace ddpsim
