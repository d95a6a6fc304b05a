// The fabric of a topology whose nodes' paths somebody found already.
#pragma once

#include <span>

#include "ddpsim/topologies/topology.hpp"
#include "node_paths.hpp"

namespace ddpsim {

/// `paths`: by type of node.
Fabric build_fabric(const Topology& topology, std::span<const NodePaths> paths);

}  // namespace ddpsim
