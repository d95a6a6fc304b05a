// Cost of reducing inside switches.
//
// Symbols: g GPUs per node, N nodes, S bytes, c channels, h heads in a node.
//
// NVLS: for every head, the switch adds up its S/h of all GPUs and sends the sum to all. Each link
// carries S for all heads, and S/h for a head of its own, in both directions:
//
//   T = launch + start + waves * wave latency + first wave + (1 + 1/h) S / (B * share)
//
// A wave is one chunk for every channel and head. NCCL's chunk grows with the size from 16 to 128
// KiB (64 KiB between nodes) in four steps; a smooth 2/3 power replaces them.
//
// NVLS all-gather and reduce-scatter: an all-gather sends each rank's S/g up, and S down to every
// rank. A reduce-scatter sends S up and S/g down. The busier direction carries S: S / (B * share).
// No log here shows either.
//
// NVLSTree: the same, while chunks travel a double binary tree between the nodes. This adds 2
// log2(N) * (network latency + half a wave through the NICs). The rate is the lower of the switch's
// and the tree's through the NICs.
//
// CollNet: data goes to the heads of each node, then once up to the network's switches and down
// again. The time is the longer of S through the NICs and the traffic on the node's links (direct:
// 2 (g - 1)/g S, chain: 2 S).
//
// Learned from one DGX H100, one H200 node, and NVLSTree over EFA and InfiniBand. Blackwell's share
// is Hopper's times the ratio of NCCL's own efficiencies for the two. One log of two nodes does not
// help, because its NICs limit it. CollNet's latencies are those of the network's hops, because no
// log with a stated machine shows it.
#include "in_switch_cost.hpp"

#include <algorithm>

#include "ddpsim/sim/values/elementary.hpp"
#include "pipeline_path.hpp"

namespace ddpsim {
namespace {

int heads(const Cluster& cluster) {
  return cluster.nvls.channels > 0 ? cluster.nvls.channels : cluster.gpus_per_node;
}

double switch_rate(CollectiveKind kind, const Cluster& cluster) {
  const double own = kind == CollectiveKind::all_reduce ? 1.0 / heads(cluster) : 0;
  return cluster.intra.per_gpu.bytes_per_second() * constants_of(cluster).nvls_share / (1 + own);
}

}  // namespace

PipelineTerms nvls_terms(CollectiveKind kind, const CollectiveChoice& choice, double size,
                         const Cluster& cluster) {
  const Path path = path_of(kind, choice, cluster);
  const PathConstants constants = constants_of(cluster);
  const bool several = cluster.nodes > 1;
  const double streams = static_cast<double>(choice.channels) * heads(cluster);
  const double largest = streams * (several ? 64 : 128) * kKiB;
  const double steps = 16 * elementary::pow(size / (4 * streams * 128 * kKiB), 2.0 / 3);
  const double waves = std::max({1.0, steps, size / largest});
  const double wave = size / waves;
  const double rate = std::min(switch_rate(kind, cluster), path.local_rate);
  PipelineTerms terms;
  terms.start_us = constants.launch_us + constants.nvls_start_us;
  terms.local_hop_us = constants.nvls_wave_us;
  terms.loops = waves;
  terms.latency_us = waves * constants.nvls_wave_us;
  terms.fill_us = move_us(wave, rate);
  terms.transfer_us = move_us(size, rate);
  if (several) {
    const int hops = 2 * tree_depth(cluster.nodes);
    terms.network_hop_us = network_hop_us(choice, wave / streams, cluster);
    terms.latency_us += hops * terms.network_hop_us;
    terms.fill_us += hops * move_us(wave / 2, path.network_rate);
    terms.transfer_us =
        std::max(terms.transfer_us, move_us(tree_traffic(cluster.nodes) * size, path.network_rate));
  }
  return terms;
}

PipelineTerms collnet_all_reduce(const CollectiveChoice& choice, double size,
                                 const Cluster& cluster) {
  const Path path = path_of(CollectiveKind::all_reduce, choice, cluster);
  const int peers = cluster.gpus_per_node - 1;
  const bool direct = choice.algorithm == Algorithm::collnet_direct;
  const int local_hops = 2 * (direct ? std::min(peers, 1) : peers);
  const double inside = direct ? 2.0 * peers / cluster.gpus_per_node : peers > 1 ? 2.0 : peers;
  const double chunk = std::min(size / choice.channels, 256 * kKiB);
  PipelineTerms terms{.start_us = path.start_us,
                      .local_hop_us = path.local_us,
                      .network_hop_us = network_hop_us(choice, chunk, cluster),
                      .payload = path.payload};
  terms.latency_us = local_hops * path.local_us + 2 * terms.network_hop_us;
  terms.fill_us = (local_hops + 1) * move_us(chunk * choice.channels, path.slowest());
  terms.transfer_us =
      std::max(move_us(size, path.network_rate), move_us(inside * size, path.local_rate));
  return terms;
}

}  // namespace ddpsim
