// A collective as the network sees it: hops that send chunks one after the other.
//
// Every hop (a rank's connection to the next one on a channel) sends the same number of chunks in
// order. Chunk k of a hop may leave once the hop has sent chunk k - 1 and certain other hops have
// delivered theirs:
//   ring of parts    the hop before it has delivered chunk k - 1. All n hops start at once with a chunk of
//                    their own. In an all-reduce's first n - 1 chunks of a loop, the reduce-scatter, what arrives
//                    is added to and sent on; in the other n - 1, the all-gather, it is sent on as it is. Each of
//                    the two alone is half as many chunks
//   tree, broadcast, reduce, in the switch
//                    the hops that lead here have delivered chunk k
//   send-recv        nothing: every rank sends at once
// A chunk occupies its route while it is sent and is delivered one latency later.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/sim/values/fabric.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// A slice of one of the index lists of a shape.
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

/// Which chunk of the hops before it a hop waits for, to send one of its own.
enum class ChunkDependency : std::uint32_t {
  same = 0,      ///< what it sends is what they delivered
  previous = 1,  ///< what they delivered is sent with the next chunk; a channel is one ring
};

/// What does not depend on size or protocol. Where a hop waits for the same chunk, it stands behind
/// those it waits for.
struct PipelineShape {
  std::vector<Hop> hops;
  std::vector<std::uint32_t> hop_lists;
  ChunkDependency dependency = ChunkDependency::same;
  /// The hops of every channel that differs from those before it in more than its routes. What does
  /// not depend on links need be worked out for these only.
  std::vector<Slice> unlike_channels;

  std::span<const std::uint32_t> list(Slice slice) const {
    return std::span(hop_lists).subspan(slice.first, slice.count);
  }
};

/// The rings of so many channels, one hop per rank and channel: all-reduce, reduce-scatter, all-gather.
PipelineShape ring_all_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// The same rings opened before the first rank, which sends.
PipelineShape ring_broadcast_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// The same opened behind the first rank, which receives.
PipelineShape ring_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// The hops of the first ring, each by itself; all channels take its ways.
PipelineShape send_recv_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// Reduce up and broadcast down: two hops per edge and channel.
PipelineShape tree_all_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// NVLS and NVLSTree. In each of Fabric::switched the GPUs of a node send to their switch, the switch sends the sum to the
/// node's head; heads reduce and broadcast along the tree; a head sends to the switch, and the switch to every GPU.
PipelineShape in_switch_all_reduce_shape(const Fabric& fabric, int gpus_per_node);

struct ChunkPipeline {
  PipelineShape const* shape = nullptr;
  std::uint32_t chunks = 0;  ///< per hop
  Duration start;            ///< before the first chunk
  std::int64_t ceiling = 1;  ///< bytes per second a hop sends at most
  Duration chunk_time;       ///< to send one chunk at that rate
  Duration local_latency;
  Duration network_latency;
  /// A hop sends the next chunk only when the last one is delivered, as two processes do that meet
  /// for every message. NCCL's buffers hold several.
  bool rendezvous = false;
};

}  // namespace ddpsim
