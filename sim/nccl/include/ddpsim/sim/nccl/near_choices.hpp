// What NCCL might choose just as well as the choice from its table.
#pragma once

#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

/// How far NCCL's own estimates on a machine may differ from those computed for the stated cluster,
/// as an 80 % interval. In the fitted families, trees had 0.95, 1, 1.05 and 1.2 times the computed
/// estimates (FittedSelection), a standard deviation of 0.05.
inline constexpr double kEstimatesApart = 1.066;

/// Choices whose estimate is at most `within` times that of NCCL's choice, which comes first.
std::vector<CollectiveChoice> near_choices(CollectiveKind kind, Bytes size, const Cluster& cluster,
                                           const CollectiveTuning& tuning,
                                           double within = kEstimatesApart);

}  // namespace ddpsim
