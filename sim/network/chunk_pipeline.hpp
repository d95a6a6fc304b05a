// A collective as the network sees it: hops that send chunks one after the other.
//
// A hop is a rank's connection to the next rank on a channel. Every hop sends the same number of
// chunks in order. Chunk k of a hop may leave after its chunk k - 1, once certain other hops have
// delivered theirs:
//
// - Ring of parts: the hop before it has delivered chunk k - 1. All n hops start at once with a
//   chunk of their own. In the first n - 1 chunks of a loop of an all-reduce, the reduce-scatter,
//   arriving data is added to and sent on. In the other n - 1, the all-gather, it is sent on
//   unchanged. Each of the two alone has half as many chunks.
// - Tree, broadcast, reduce, in the switch: the hops that lead here have delivered chunk k.
// - Send-recv: no condition; every rank sends at once.
//
// A chunk occupies its route while it is sent, and is delivered one latency later.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/sim/values/fabric.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// A slice of one of a shape's index lists.
struct Slice {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct Hop {
  Route route;
  bool between_nodes = false;
  Slice waits_for;  ///< hops whose chunks must have arrived
  Slice feeds;      ///< hops that wait for this one
};

/// Which chunk of an earlier hop must be delivered before a hop sends one of its own.
enum class ChunkDependency : std::uint32_t {
  same = 0,  ///< the same chunk, which it sends on
  /// The previous chunk, which it sends on next. A channel is one ring.
  previous = 1,
};

/// The part of a pipeline that does not depend on size or protocol. With ChunkDependency::same,
/// each hop comes after the hops it waits for.
struct PipelineShape {
  std::vector<Hop> hops;
  std::vector<std::uint32_t> hop_lists;
  ChunkDependency dependency = ChunkDependency::same;
  /// Hops of each channel that differs from earlier channels in more than its routes. Anything that
  /// does not depend on links only has to be computed for these.
  std::vector<Slice> unlike_channels;

  std::span<const std::uint32_t> list(Slice slice) const {
    return std::span(hop_lists).subspan(slice.first, slice.count);
  }
};

/// Rings of all channels, with one hop per rank and channel: all-reduce, reduce-scatter,
/// all-gather.
PipelineShape ring_all_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// Rings of all channels, opened before the first rank, which sends: broadcast.
PipelineShape ring_broadcast_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// Rings of all channels, opened after the first rank, which receives: reduce.
PipelineShape ring_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// Independent hops of the first ring. All channels use the same links.
PipelineShape send_recv_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// Reduces up and broadcasts down, with two hops per edge and channel.
PipelineShape tree_all_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// NVLS and NVLSTree, for each of Fabric::switched. The GPUs of a node send to their switch, which
/// sends the sum to the node's head. Heads reduce and broadcast along the tree. Then a head sends
/// to the switch, and the switch to every GPU.
PipelineShape in_switch_all_reduce_shape(const Fabric& fabric, int gpus_per_node);

struct ChunkPipeline {
  PipelineShape const* shape = nullptr;
  std::uint32_t chunks = 0;  ///< per hop
  Duration start;            ///< before the first chunk
  std::int64_t ceiling = 1;  ///< most bytes per second of a hop
  Duration chunk_time;       ///< to send one chunk at that rate
  Duration local_latency;
  Duration network_latency;
  /// Whether a hop sends the next chunk only after the last one is delivered, like two processes
  /// that meet for every message. NCCL's buffers hold several.
  bool rendezvous = false;
};

}  // namespace ddpsim
