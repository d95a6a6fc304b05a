// A collective as the network sees it: hops that send chunks one after the other.
//
// Every hop (a rank's connection to the next one on a channel) sends the same number of chunks in
// order. Chunk k of a hop may leave once the hop has sent chunk k - 1 and certain other hops have
// delivered theirs:
//   ring all-reduce  the hop before it has delivered chunk k - 1 (`lag` 1): what arrives is added
//                    to and sent on; all hops start at once with a chunk of their own
//   tree, broadcast  the hops that lead here have delivered chunk k (`lag` 0)
// A chunk occupies its route while it is sent and is delivered one latency later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ddpsim/sim/fabric.hpp"
#include "ddpsim/sim/units.hpp"

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

/// What does not depend on size or protocol. With lag 0 a hop stands behind those it waits for.
struct PipelineShape {
  std::vector<Hop> hops;
  std::vector<std::uint32_t> hop_lists;
  std::uint32_t lag = 0;
  /// The hops of every channel that differs from those before it in more than its routes. What does
  /// not depend on links need be worked out for these only.
  std::vector<Slice> unlike_channels;

  std::span<const std::uint32_t> list(Slice slice) const {
    return std::span(hop_lists).subspan(slice.first, slice.count);
  }
};

/// The rings of so many channels, one hop per rank and channel.
PipelineShape ring_all_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// The same rings opened before the first rank, which sends.
PipelineShape ring_broadcast_shape(const Fabric& fabric, int channels, int gpus_per_node);
/// Reduce up and broadcast down: two hops per edge and channel.
PipelineShape tree_all_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node);

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
