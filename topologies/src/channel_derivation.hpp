// Derives NCCL's channels for the nodes of a cluster. Tries speeds, compares solutions, and fills
// in the values of NCCL's tuning model.
#pragma once

#include <span>

#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"
#include "node_paths.hpp"

namespace ddpsim {

/// Fills intra, ring, tree, nvls and nvls_channels of `topology.cluster` and the channels of its
/// node types. Their other fields must be set; `paths` has one entry for each type. Throws
/// InputError if GPUs or NICs are not connected.
void derive_channels(const ClusterDescription& description, std::span<const NodePaths> paths,
                     Topology& topology);

}  // namespace ddpsim
