#include "cost_pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ddpsim {
namespace {

/// Microseconds by which a hop delays a chunk, before scaling.
struct Weights {
  double local = 0;
  double network = 0;
  double of(const Hop& hop) const { return hop.between_nodes ? network : local; }
};

struct Path {
  double weight = 0;
  double hops = 0;
};

/// The path that takes longest if each hop costs its weight times `scale`, plus `per_hop`. For hops
/// that wait for the same chunk.
Path critical_path(const PipelineShape& shape, const Weights& weights, double scale,
                   double per_hop) {
  const auto length = [&](const Path& path) { return path.weight * scale + path.hops * per_hop; };
  Path longest;
  std::vector<Path> paths;  // by hop of the channel
  for (const Slice channel : shape.unlike_channels) {
    paths.clear();
    for (std::uint32_t h = channel.first; h < channel.first + channel.count; ++h) {
      const Hop& hop = shape.hops[h];
      Path path;
      for (const std::uint32_t before : shape.list(hop.waits_for))
        if (length(paths[before - channel.first]) > length(path))
          path = paths[before - channel.first];
      paths.push_back({path.weight + weights.of(hop), path.hops + 1});
      if (length(paths.back()) > length(longest)) longest = paths.back();
    }
  }
  return longest;
}

/// The largest weight of `count` hops in a row. For hops that wait for the previous chunk, where a
/// channel is one ring.
double heaviest_window(const PipelineShape& shape, const Weights& weights, std::uint64_t count) {
  double heaviest = 0;
  for (const Slice channel : shape.unlike_channels) {
    std::vector<double> ring;
    for (std::uint32_t hop = 0; hop < channel.count; ++hop)
      ring.push_back(weights.of(shape.hops[channel.first + hop]));
    double turn = 0;
    for (const double weight : ring) turn += weight;
    const std::uint64_t rest = count % ring.size();
    double window = 0;
    for (std::uint64_t i = 0; i < rest; ++i) window += ring[i];
    double widest = window;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      window += ring[(i + rest) % ring.size()] - ring[i];
      widest = std::max(widest, window);
    }
    heaviest = std::max(heaviest, static_cast<double>(count / ring.size()) * turn + widest);
  }
  return heaviest;
}

std::uint32_t chunks_for(double hops, const PipelineTerms& terms) {
  // Sending chunk by chunk delays by one chunk's time per hop. It is kept below a quarter of the
  // cost model's own delay. If that delay is almost zero, it is kept below a thousandth of the
  // transfer.
  const double delay = terms.latency_us + terms.fill_us;
  const double most = 1000 * std::max(1.0, hops);
  const double wanted = 4 * (hops - 1) * terms.transfer_us / delay;
  return static_cast<std::uint32_t>(wanted < most ? std::max(1.0, std::ceil(wanted)) : most);
}

/// Factor on the weights with which the critical path takes `delay` in addition to its first chunk,
/// sent chunk by chunk. For hops that wait for the same chunk. The critical path depends on the
/// factor, so this iterates until neither changes, or a few times.
double scale_for(const PipelineShape& shape, const Weights& weights, double delay,
                 double chunk_us) {
  double scale = 0;
  Path path = critical_path(shape, weights, 1, 0);
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    const double before =
        std::exchange(scale, std::max(0.0, (delay - (path.hops - 1) * chunk_us) / path.weight));
    if (round > 0 && scale == before) break;
    path = critical_path(shape, weights, scale, chunk_us);
  }
  return scale;
}

}  // namespace

ChunkPipeline cost_pipeline(const PipelineShape& shape, const PipelineTerms& terms,
                            const PipelineLoad& load) {
  Weights weights{terms.local_hop_us, terms.network_hop_us};
  if (!(weights.local > 0)) weights.local = weights.network;
  if (!(weights.network > 0)) weights.network = weights.local;
  if (!(weights.local > 0)) weights = {1, 1};

  ChunkPipeline pipeline;
  pipeline.shape = &shape;
  pipeline.start = Duration::microseconds(terms.start_us);
  pipeline.chunks =
      load.chunks > 0 ? load.chunks : chunks_for(critical_path(shape, {0, 0}, 0, 1).hops, terms);
  const double chunk_us = terms.transfer_us / pipeline.chunks;
  pipeline.chunk_time = Duration::microseconds(chunk_us);
  if (terms.transfer_us > 0)
    pipeline.ceiling = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(load.wire_bytes / terms.transfer_us * 1e6));
  const double delay = terms.latency_us + terms.fill_us;
  const double scale = shape.dependency == ChunkDependency::previous
                           ? delay / heaviest_window(shape, weights, pipeline.chunks)
                           : scale_for(shape, weights, delay, chunk_us);
  pipeline.local_latency = Duration::microseconds(weights.local * scale);
  pipeline.network_latency = Duration::microseconds(weights.network * scale);
  return pipeline;
}

PipelineLoad load_of(CollectiveKind kind, const CollectiveChoice& choice, int channels,
                     const Cluster& cluster, Bytes size, const PipelineTerms& terms) {
  const double share =
      static_cast<double>(std::max<std::int64_t>(0, size.count())) / channels / terms.payload;
  if (ring_phases(kind) == 0 || choice.algorithm != Algorithm::ring) return {share, 0};
  const double steps = ring_steps(kind, cluster.ranks());
  return {share / cluster.ranks() * steps, static_cast<std::uint32_t>(steps * terms.loops)};
}

}  // namespace ddpsim
