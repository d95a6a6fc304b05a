// Builds the fabric of a topology whose node paths are already known.
#pragma once

#include <span>

#include "ddpsim/topologies/topology.hpp"
#include "node_paths.hpp"

namespace ddpsim {

/// `paths` has one entry for each type of node.
Fabric build_fabric(const Topology& topology, std::span<const NodePaths> paths);

}  // namespace ddpsim
