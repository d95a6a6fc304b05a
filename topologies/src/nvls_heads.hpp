// Result of NCCL's search for NVLS: the GPUs of a node for which the switch reduces, and the speed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "node_paths.hpp"

namespace ddpsim {

struct SwitchHead {
  std::uint32_t gpu = 0;
  std::uint32_t nic = 0;  ///< its NIC; unused within a single node
};

/// At most `most` heads. With several nodes, each NIC has one: the nearest GPU that is not a head
/// yet.
std::vector<SwitchHead> switch_heads(const NodePaths& paths, bool several_nodes, int most);

/// Number of heads that every type of node has.
int common_heads(std::span<const NodePaths> paths, bool several_nodes);

/// Fills Cluster::nvls and Cluster::nvls_channels for `heads` heads per node, from the other sealed
/// values. Both stay 0 if the GPUs or their connection cannot reduce in the switch.
void derive_nvls(Cluster& cluster, int heads);

}  // namespace ddpsim
