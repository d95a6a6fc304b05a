// Load that NCCL's channels put on a cluster's links. It gives an upper bound for every collective,
// whatever the cost model predicts: a PCIe slot, a shared uplink, a trunk or a degraded link may
// set it.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/fabric.hpp"

namespace ddpsim {

/// NCCL's limit since 2.25 (MAXCHANNELS).
inline constexpr int kMostChannels = 64;

enum class ChannelShape : std::uint8_t { ring, tree, in_switch };

/// The kind of channels that an algorithm's data take. Absent if ddpsim lays out no channels for
/// it: CollNet, and NVLS between nodes.
std::optional<ChannelShape> channel_shape(Algorithm algorithm, int nodes);

/// For each LinkKind, the seconds for which its busiest link is busy at its nominal rate, per byte
/// that every hop sends over all channels together. 0 if no link of the kind is used.
using SecondsPerByte = std::array<double, kLinkKinds>;

struct LinkLoad {
  SecondsPerByte local{};    ///< links used by hops inside a node
  SecondsPerByte network{};  ///< links used by hops between nodes
};

struct LinkLoads {
  /// Indexed by shape, then by number of channels minus one. The hops of a tree go both up and
  /// down. in_switch has a single entry, because NVLS uses all its heads whatever the number of
  /// thread blocks.
  std::array<std::vector<LinkLoad>, 3> by_channels;
  /// Channels of the fabric. Further channels repeat them from the first one on.
  int laid_out = 1;

  /// Load on `channels` channels. Larger numbers than known have the load of the largest known one.
  const LinkLoad& of(ChannelShape shape, int channels) const;
};

struct Cluster;
/// Upper bound of an all-reduce's bus bandwidth (nccl-tests: 2(n-1)/n * S / time) on `channels`
/// channels, or on all that are laid out. It leaves out latencies and protocol overhead, and a tree
/// over two nodes may reach twice the bound of a ring.
///
/// The bound of rings also holds for every other collective on rings, in its own bus bandwidth. For
/// a send-recv, take the bound of one channel.
Bandwidth most_busbw(ChannelShape shape, const Cluster& cluster, std::optional<int> channels = {});
Bandwidth most_busbw(ChannelShape shape, const LinkLoads& loads, int ranks, int channels);

/// Rate at which the narrowest switch above the leaves carries one ring over all nodes. Infinite if
/// no traffic leaves a leaf.
Bandwidth trunk_rate(const Cluster& cluster);

/// Loads of 1 to kMostChannels channels. A hop is between nodes if its ranks do not share a node of
/// `gpus_per_node` GPUs.
LinkLoads link_loads(const Fabric& fabric, int gpus_per_node);

}  // namespace ddpsim
