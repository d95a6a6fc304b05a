// NCCL's search for channels of one speed inside a node (NVIDIA/nccl src/graph/search.cc).
#pragma once

#include <vector>

#include "ddpsim/topologies/topology.hpp"
#include "node_paths.hpp"

namespace ddpsim {

struct ChannelWish {
  double inside = 0;   ///< GB/s that a channel takes on every hop between GPUs, in NCCL's figures
  double outside = 0;  ///< GB/s on the way to and from NICs; 0: rings that close inside the node
  PathClass farthest = PathClass::nvl;  ///< hops between GPUs may be this far
  double host_factor = 1;               ///< what a hop through a CPU costs more
  int most = 32;                        ///< channels wanted
};

/// As many channels as fit beside each other, up to `most`.
std::vector<ChannelOrder> search_channels(const NodePaths& paths, const ChannelWish& wish);

/// No search can find more than this.
int channel_bound(const NodePaths& paths, const ChannelWish& wish);

}  // namespace ddpsim
