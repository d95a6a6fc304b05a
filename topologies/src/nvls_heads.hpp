// What NCCL's search finds for NVLS: which GPUs of a node have the switch reduce, and how fast.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "node_paths.hpp"

namespace ddpsim {

struct SwitchHead {
  std::uint32_t gpu = 0;
  std::uint32_t nic = 0;  ///< by which it reaches other nodes; without meaning in one node
};

/// At most `most`. Between nodes every NIC has one, the nearest GPU that has none yet.
std::vector<SwitchHead> switch_heads(const NodePaths& paths, bool several_nodes, int most);

/// How many every type of node has.
int common_heads(std::span<const NodePaths> paths, bool several_nodes);

/// Fills Cluster::nvls and Cluster::nvls_channels for so many heads in a node from what else is sealed; leaves both at 0
/// where the GPUs, or what joins them, cannot reduce in the switch.
void derive_nvls(Cluster& cluster, int heads);

}  // namespace ddpsim
