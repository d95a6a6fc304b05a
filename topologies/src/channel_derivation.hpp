// NCCL's channels for the nodes of a cluster: speeds tried, solutions compared, the figures of its
// tuning model filled in.
#pragma once

#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"

namespace ddpsim {

/// Fills intra, ring, tree, nvls and nvls_channels of `topology.cluster` and the channels of its node
/// types, whose other fields are set. Throws InputError where GPUs or NICs are not connected.
void derive_channels(const ClusterDescription& description, Topology& topology);

}  // namespace ddpsim
