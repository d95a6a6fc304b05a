// What NCCL's channels ask of a cluster's wires. From it follows what no collective can exceed, whatever the
// cost model counts on: a PCIe slot, a shared uplink, a trunk, a degraded link.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/fabric.hpp"

namespace ddpsim {

inline constexpr int kMostChannels = 64;  ///< NCCL's since 2.25 (MAXCHANNELS)

enum class ChannelShape : std::uint8_t { ring, tree, in_switch };

/// The channels an algorithm's data takes; absent where no channel is laid out for it: CollNet, and NVLS between nodes.
std::optional<ChannelShape> channel_shape(Algorithm algorithm, int nodes);

/// By LinkKind: how many seconds the busiest link of the kind is busy, at its nominal rate, for each byte that
/// every hop sends over all channels together. 0 where no link of the kind is passed.
using SecondsPerByte = std::array<double, kLinkKinds>;

struct LinkLoad {
  SecondsPerByte local{};    ///< links that hops inside a node pass
  SecondsPerByte network{};  ///< links that hops between nodes pass
};

struct LinkLoads {
  /// By shape, then by channels less one; a tree's hops are those up and those down. Of in_switch one entry alone: NVLS
  /// uses all its heads, whatever the number of thread blocks.
  std::array<std::vector<LinkLoad>, 3> by_channels;
  int laid_out = 1;  ///< channels of the fabric; more begin anew with its first

  /// More channels than are known load links as those known do.
  const LinkLoad& of(ChannelShape shape, int channels) const;
};

struct Cluster;
/// Bus bandwidth as nccl-tests counts it, 2(n-1)/n * S over the time, that no all-reduce on so many
/// channels (absent: on all laid out) exceeds: latencies and what protocols take are still to come.
/// A tree over two nodes may reach twice a ring's. Nor does any other collective on rings, by its
/// own bus bandwidth; a send-recv that of one channel.
Bandwidth most_busbw(ChannelShape shape, const Cluster& cluster, std::optional<int> channels = {});
Bandwidth most_busbw(ChannelShape shape, const LinkLoads& loads, int ranks, int channels);

/// What the narrowest switch above a leaf carries of one ring over all nodes; infinite where nothing leaves a leaf.
Bandwidth trunk_rate(const Cluster& cluster);

/// Of up to kMostChannels. Hops between nodes are those between ranks that do not share a node of so many GPUs.
LinkLoads link_loads(const Fabric& fabric, int gpus_per_node);

}  // namespace ddpsim
