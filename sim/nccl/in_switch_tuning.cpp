// NCCL's estimates for algorithms that reduce inside switches: NVLS and NVLSTree in the NVSwitches
// of a node, CollNet in those of the network (SHARP). They run with Simple, except the oldest
// CollNet.
//
// Symbols: g GPUs per node, N nodes, n ranks, h heads of bandwidth b inside and e between nodes.
//
// NVLS:
// - until 2.27: h * min(b, e) * 5/6; the latency is the hardware's, once
// - since 2.28: h * min(2 b * efficiency * (h - 1)/h, e) * n / (2(n - 1))
//
// NVLSTree:
// - 2.17 to 2.20: h * b (e from three nodes) * .70 N / (2(N - 1)), latency linear in the nodes
// - 2.21 to 2.27: h * min(b, e; e/2 from three nodes) * 5/6, 2 log2(N) network steps
// - since 2.28: as NVLS, 2 e with two nodes, capped per head
//
// NVLS of all-gathers and reduce-scatters on one node, since 2.18:
// - until 2.22: as above
// - until 2.27: without the 5/6
// - since 2.28: h * b * efficiency * (h - 1)/h * (g - 1)/g
//
// CollNet: half of the bus. Direct shares its heads: / (1 + (g/h - 1)/2), on sm_90 x .85.
//
// Source: NCCL's graph/tuning.cc, 2.21 to 2.30; earlier rows as copied in public simulators. No log
// here prints NCCL's own table to check them.
#include <algorithm>
#include <limits>

#include "nccl_tuning.hpp"

namespace ddpsim {
namespace {

float gigabytes(Bandwidth bandwidth) {
  return static_cast<float>(bandwidth.gigabytes_per_second());
}

/// Share of the heads' bandwidth that 2.28 expects of the switch: Hopper, Blackwell.
float nvls_efficiency(std::size_t generation) {
  return generation < 2 ? 0.0f : generation == 2 ? .85f : .74f;
}

float nvls_bandwidth(CollectiveKind kind, Algorithm algorithm, const Cluster& cluster,
                     const NcclTuning& table) {
  const bool reduces = kind == CollectiveKind::all_reduce;
  const SearchGraph& heads = cluster.nvls;
  const bool tree = algorithm == Algorithm::nvls_tree;
  const auto count = static_cast<float>(heads.channels);
  const float intra = gigabytes(heads.intra);
  // One node has no network to wait for. Taken literally, 2.28 would still limit it by the search's
  // speed, and never use NVLS for large sizes on Hopper. In fact it does.
  const float inter =
      cluster.nodes == 1 ? std::numeric_limits<float>::max() : gigabytes(heads.inter);
  if (table.nvls == NvlsEra::v2_28) {
    if (heads.channels < 2) return 0;
    const std::size_t row = generation_row(cluster, table);
    const double cap = table.nvls_tree[row][nodes_column(cluster)];
    const float limit = tree ? static_cast<float>(cap) : std::numeric_limits<float>::max();
    const auto gpus = static_cast<float>(cluster.gpus_per_node);
    const float directions = reduces ? 2.0f : (gpus - 1) / gpus;
    const float inside = intra * nvls_efficiency(row) * (count - 1) / count * directions;
    const float between = inter * (tree && cluster.nodes <= 2 ? 2.0f : 1.0f);
    const auto ranks = static_cast<float>(cluster.ranks());
    const float bus = count * std::min({inside, between, limit});
    return reduces ? bus * (ranks / (2 * (ranks - 1))) : bus;
  }
  constexpr float kShare = 5.0f / 6.0f;
  if (!reduces && table.version >= NcclVersion{2, 23, 0}) return count * std::min(intra, inter);
  if (!tree) return count * std::min(intra, inter) * kShare;
  const bool several = cluster.nodes > 2;
  if (table.nvls == NvlsEra::v2_17) {
    const auto nodes = static_cast<float>(cluster.nodes);
    return count * (several ? inter : intra) * (.70f * nodes / (2 * (nodes - 1)));
  }
  return count * std::min(intra, several ? inter / 2 : inter) * kShare;
}

float nvls_latency(Algorithm algorithm, const Cluster& cluster, const NcclTuning& table) {
  constexpr std::size_t kSimple = 2;
  const float base = table.base_latency[at(algorithm)][kSimple];
  const float local = table.nvlink_latency[at(algorithm)][kSimple];
  const float network = table.network_latency[at(algorithm)][kSimple];
  if (algorithm == Algorithm::nvls) return base + local + (cluster.nodes > 1 ? network : 0);
  const int steps =
      2 * (table.nvls == NvlsEra::v2_17 ? cluster.nodes - 1 : log2_floor(cluster.nodes));
  return base + local + static_cast<float>(steps) * network;
}

float collnet_bandwidth(Algorithm algorithm, Protocol protocol, const Cluster& cluster,
                        const NcclTuning& table) {
  const SearchGraph& heads = cluster.tree;
  float bus = static_cast<float>(heads.channels) * gigabytes(heads.intra);
  if (table.one_collnet) {
    if (table.cap_ampere && cluster.gpu.compute_capability == 80) bus = std::min(bus, 235.0f);
    bus *= .9f;
    if (protocol == Protocol::ll) bus *= 1.0f / 6.0f;
    return protocol == Protocol::ll128 ? 0 : bus * .5f;
  }
  if (protocol != Protocol::simple) return 0;
  if (algorithm == Algorithm::collnet_direct) {
    float shared = static_cast<float>(cluster.gpus_per_node) / static_cast<float>(heads.channels);
    shared -= (shared - 1) / 2;
    bus /= shared;
    if (cluster.gpu.compute_capability >= 90) bus *= .85f;
  }
  return bus * .5f;
}

float collnet_latency(Algorithm algorithm, Protocol protocol, const Cluster& cluster,
                      const NcclTuning& table) {
  const std::size_t a = at(algorithm);
  const std::size_t p = at(protocol);
  const bool nvlink = cluster.tree.intra_path == PathKind::nvlink;
  float local = (nvlink ? table.nvlink_latency : table.pcie_latency)[a][p];
  if (table.slow_ll_across_nodes && protocol == Protocol::ll) local *= 1.8f;
  const auto peers = static_cast<float>(cluster.gpus_per_node - 1);
  constexpr float kArity = .4f;  // us to serialise one more peer
  const float inside = algorithm == Algorithm::collnet_direct
                           ? std::min(1.0f, peers) * local + peers * kArity
                           : peers * local;
  return table.base_latency[a][p] + 2 * inside + table.network_latency[a][p];
}

}  // namespace

TuningEntry in_switch_entry(CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                            const Cluster& cluster, const NcclTuning& table) {
  if (algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree) {
    if (protocol != Protocol::simple) return {};
    return {nvls_latency(algorithm, cluster, table),
            nvls_bandwidth(kind, algorithm, cluster, table)};
  }
  return {collnet_latency(algorithm, protocol, cluster, table),
          collnet_bandwidth(algorithm, protocol, cluster, table)};
}

bool algorithm_exists(CollectiveKind kind, Algorithm algorithm, const Cluster& cluster,
                      const CollectiveTuning& tuning, const NcclTuning& table) {
  constexpr int kMostDirectPeers = 8;
  if (algorithm == Algorithm::ring) return true;
  const int phases = ring_phases(kind);
  if (phases == 0) return false;
  const bool several = cluster.nodes > 1;
  const bool collnet = several && tuning.collnet && cluster.network.collnet;
  const bool nvls = tuning.nvls && table.nvls != NvlsEra::none && cluster.nvls_channels > 0 &&
                    cluster.gpus_per_node > 2;
  if (phases == 1)
    return algorithm == Algorithm::nvls && nvls && !several &&
           cluster.gpus_per_node <= kMostNvlsHeads && tuning.nccl >= NcclVersion{2, 18, 0};
  switch (algorithm) {
    case Algorithm::collnet_direct:
      return collnet && !table.one_collnet && cluster.intra.kind == IntraKind::nvswitch &&
             cluster.gpus_per_node <= kMostDirectPeers;
    case Algorithm::collnet_chain:
      return collnet;
    case Algorithm::nvls:
      return nvls && (!several || collnet);
    case Algorithm::nvls_tree:
      return nvls && several && tuning.nccl >= NcclVersion{2, 18, 0};
    case Algorithm::tree:
      return tuning.nccl >= NcclVersion{2, 4, 0};
    case Algorithm::ring:
      break;
  }
  return true;
}

}  // namespace ddpsim
