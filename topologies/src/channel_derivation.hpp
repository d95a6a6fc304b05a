// NCCL's channels for nodes that are all alike, by rule instead of by search.
#pragma once

#include "ddpsim/sim/cluster.hpp"
#include "description.hpp"

namespace ddpsim {

/// Fills intra, ring, tree and nvls_channels of `cluster`, whose other fields are set.
void derive_channels(const ClusterDescription& description, Cluster& cluster);

}  // namespace ddpsim
