// NCCL's channels for the nodes of a cluster: speeds tried, solutions compared, the figures of its
// tuning model filled in.
#pragma once

#include <span>

#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"
#include "node_paths.hpp"

namespace ddpsim {

/// Fills intra, ring, tree, nvls and nvls_channels of `topology.cluster` and the channels of its node
/// types, whose other fields are set; `paths` are those types'. Throws InputError where GPUs or NICs are not connected.
void derive_channels(const ClusterDescription& description, std::span<const NodePaths> paths,
                     Topology& topology);

}  // namespace ddpsim
