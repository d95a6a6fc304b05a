// NCCL's search for channels of one speed inside a node (NVIDIA/nccl src/graph/search.cc).
#pragma once

#include <vector>

#include "ddpsim/topologies/topology.hpp"
#include "node_paths.hpp"

namespace ddpsim {

struct ChannelWish {
  /// GB/s that a channel uses on every hop between GPUs, in NCCL's values.
  double inside = 0;
  /// GB/s to and from NICs; 0: rings that close inside the node.
  double outside = 0;
  PathClass farthest = PathClass::nvl;  ///< farthest hop allowed between GPUs
  /// Factor on the bandwidth that a hop between two GPUs uses if it goes through a CPU.
  double host_factor = 1;
  int most = 32;  ///< channels wanted
};

/// Finds channels that fit at the same time, at most `most` of them.
std::vector<ChannelOrder> search_channels(const NodePaths& paths, const ChannelWish& wish);

/// Upper limit for the number of channels that a search can find.
int channel_bound(const NodePaths& paths, const ChannelWish& wish);

}  // namespace ddpsim
