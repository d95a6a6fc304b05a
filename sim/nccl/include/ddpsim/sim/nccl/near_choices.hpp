// What NCCL may choose as well as what its table says.
#pragma once

#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

/// How far NCCL's own estimates on a machine may lie from what its table makes of the cluster as stated: four in
/// five within. The families fitted had 0.95, 1, 1.05 and 1.2 times those of trees (FittedSelection), one standard
/// deviation of 0.05.
inline constexpr double kEstimatesApart = 1.066;

/// Choices that NCCL estimates to take no more than `within` times what it chooses; that one first.
std::vector<CollectiveChoice> near_choices(CollectiveKind kind, Bytes size, const Cluster& cluster,
                                           const CollectiveTuning& tuning,
                                           double within = kEstimatesApart);

}  // namespace ddpsim
