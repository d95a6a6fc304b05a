// NCCL's table: latency and bandwidth of every algorithm and protocol. Rings and trees are here;
// reductions in switches are in in_switch_tuning.cpp.
//
// n ranks, N nodes. A ring has s steps: 2(n - 1) for an all-reduce, n - 1 for an all-gather or a
// reduce-scatter, n for a broadcast or a reduce. The network carries 2(N - 1), N - 1 or N of them.
//
// - ring latency = base + (s - network steps) * local + network steps * network
// - tree latency = base + 2 * ((ranks per node - 1) * local + log2(N) * network)
// - ring bandwidth = bus * n / s, tree bandwidth = bus / 2
//
// Here bus is channels * bandwidth per channel of the search, reduced to what each protocol can do.
// Collectives other than all-reduces run on rings, or in the switches of one node. PAT (one GPU a
// node, since 2.23) is left out. So are CollNet's all-gather and reduce-scatter, which need a
// plugin that has them. Source: NCCL's graph/tuning.cc, 2.7 to 2.30.
#include <algorithm>

#include "nccl_thresholds.hpp"
#include "nccl_tuning.hpp"

namespace ddpsim {
namespace {

const SearchGraph& graph_of(Algorithm algorithm, const Cluster& cluster) {
  return algorithm == Algorithm::ring ? cluster.ring : cluster.tree;
}

float bus_bandwidth(Algorithm algorithm, const Cluster& cluster, const NcclTuning& table) {
  const SearchGraph& graph = graph_of(algorithm, cluster);
  const bool inside = cluster.nodes == 1 || (cluster.nodes == 2 && table.fast_trees);
  const Bandwidth channel = inside ? graph.intra : std::min(graph.intra, graph.inter);
  return static_cast<float>(graph.channels) * static_cast<float>(channel.gigabytes_per_second());
}

float cut(double bandwidth, double limit) {
  return static_cast<float>(std::min(bandwidth, limit));
}

/// Share of the bus for rings with LL before 2.21.
double old_ring_ll_factor(CollectiveKind kind, const Cluster& cluster) {
  const bool reduces = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce;
  return cluster.nodes > 1 || reduces ? 1.0 / 4.0 : 1.0 / 3.0;
}

/// GB/s of a channel with LL128 before 2.10, by collective.
double old_ring_ll128(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      break;
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
      return 18.8;
    case CollectiveKind::reduce_scatter:
      return 15.2;
    case CollectiveKind::all_gather:
      return 18.3;
    case CollectiveKind::reduce:
      return 12.0;
  }
  return 16.7;
}

float ring_bus(CollectiveKind kind, Protocol protocol, const Cluster& cluster,
               const NcclTuning& table) {
  float bus = bus_bandwidth(Algorithm::ring, cluster, table);
  if (table.cap_ampere && cluster.gpu.compute_capability == 80) bus = std::min(bus, 235.0f);
  const bool old = table.era == TuningEra::v2_7;
  const std::size_t column = nodes_column(cluster);
  const std::size_t row = generation_row(cluster, table);
  const double factor =
      table.ring_ll_factor > 0 ? table.ring_ll_factor : old_ring_ll_factor(kind, cluster);
  const double channels = cluster.ring.channels;
  switch (protocol) {
    case Protocol::ll: {
      if (old) return static_cast<float>(static_cast<double>(bus) * factor);
      // Within one node, the GPU's generation decides the limit. With several nodes, the processor
      // that runs NCCL's proxy threads decides it.
      const std::size_t ll_row =
          cluster.nodes == 1 ? row : (cluster.cpu == CpuVendor::amd ? 1U : 0U);
      return cut(static_cast<double>(bus) * factor, table.ll_max[ll_row][column]);
    }
    case Protocol::ll128: {
      const bool lone = table.ring_ll128_single_rank && cluster.gpus_per_node < 2;
      const bool by_kind =
          old || (kind != CollectiveKind::all_reduce && table.era != TuningEra::v2_10);
      const double cap = by_kind ? old_ring_ll128(kind) : table.ring_ll128[row][column];
      return cut(static_cast<double>(bus) * (lone ? 0.7 : 0.92), cap * channels);
    }
    case Protocol::simple:
      return bus;
  }
  return 0;
}

float tree_bus_2_7(Protocol protocol, const Cluster& cluster, float bus) {
  const bool ampere_ll128 = cluster.gpu.compute_capability == 80 && protocol == Protocol::ll128;
  const double limit =
      cluster.nodes > 2 ? (ampere_ll128 ? 105.0 : 80.0) : (ampere_ll128 ? 130.0 : 110.0);
  const float tree = cut(static_cast<double>(bus) * .9, limit);
  const double channels = cluster.tree.channels;
  switch (protocol) {
    case Protocol::ll:
      return static_cast<float>(static_cast<double>(tree) * (1.0 / 3.8));
    case Protocol::ll128:
      return cut(static_cast<double>(tree) * (cluster.nodes == 1 ? 7.0 / 9.0 : 0.915),
                 16.7 * channels * 7.0 / 9.0);
    case Protocol::simple:
      return tree;
  }
  return 0;
}

float tree_bus(Protocol protocol, const Cluster& cluster, const NcclTuning& table) {
  float bus = bus_bandwidth(Algorithm::tree, cluster, table);
  if (table.cap_ampere && cluster.gpu.compute_capability == 80) bus = std::min(bus, 235.0f);
  if (table.era == TuningEra::v2_7) return tree_bus_2_7(protocol, cluster, bus);
  const std::size_t column = nodes_column(cluster);
  const std::size_t row = generation_row(cluster, table);
  const double channels = cluster.tree.channels;
  const float tree = cut(static_cast<double>(bus) * .92, channels * table.tree[row][column]);
  switch (protocol) {
    case Protocol::ll: {
      const std::size_t ll_row =
          cluster.nodes == 1 ? row : (cluster.cpu == CpuVendor::amd ? 1U : 0U);
      return cut(static_cast<double>(tree) / 3.8, table.ll_max[ll_row][column]);
    }
    case Protocol::ll128: {
      const double several = table.era == TuningEra::v2_8 ? 0.915 : 120.0 / 128.0;
      return cut(static_cast<double>(tree) * (cluster.nodes == 1 ? 7.0 / 9.0 : several),
                 channels * table.tree_ll128[row][column]);
    }
    case Protocol::simple:
      return tree;
  }
  return 0;
}

float bandwidth(CollectiveKind kind, Algorithm algorithm, Protocol protocol, const Cluster& cluster,
                const NcclTuning& table) {
  if (algorithm == Algorithm::tree) {
    const bool dear = table.dear_trees_at_one_gpu && cluster.tree_at_one_gpu;
    const float bus = tree_bus(protocol, cluster, table);
    return (dear ? static_cast<float>(static_cast<double>(bus) * .85) : bus) * 0.5f;
  }
  const float ratio =
      static_cast<float>((1.0 * cluster.ranks()) / ring_steps(kind, cluster.ranks()));
  return ring_bus(kind, protocol, cluster, table) * ratio;
}

/// Whether the ring visits the GPUs in the same order on every channel: it has one channel, or is
/// behind one switch.
bool same_channels(const Cluster& cluster) {
  return cluster.ring.channels == 1 ||
         (cluster.nodes == 1 && cluster.intra.kind == IntraKind::nvswitch);
}

const PairTable& local_latency(Algorithm algorithm, const Cluster& cluster,
                               const NcclTuning& table) {
  return graph_of(algorithm, cluster).intra_path == PathKind::nvlink ? table.nvlink_latency
                                                                     : table.pcie_latency;
}

/// Time a proxy thread needs to post one message, in microseconds.
float net_overhead(Protocol protocol, const Cluster& cluster, const NcclTuning& table) {
  if (!table.net_overhead || cluster.nodes == 1) return 0;
  const float post = cluster.cpu == CpuVendor::amd ? 2.0f : 1.0f;
  return protocol == Protocol::simple ? 3 * post : post;
}

float ring_latency(CollectiveKind kind, Protocol protocol, const Cluster& cluster,
                   const NcclTuning& table) {
  const std::size_t ring = at(Algorithm::ring);
  const std::size_t tree = at(Algorithm::tree);
  const std::size_t p = at(protocol);
  const PairTable& local = local_latency(Algorithm::ring, cluster, table);
  const int steps = ring_steps(kind, cluster.ranks());
  const float base = table.base_latency[ring][p];
  const int phases = ring_phases(kind);
  if (phases == 0) {
    const PairTable& slowest = cluster.nodes == 1 ? local : table.network_latency;
    if (same_channels(cluster)) return base + slowest[ring][p];
    const bool chunked = protocol == Protocol::simple;
    return base + static_cast<float>(steps) * slowest[chunked ? tree : ring][p];
  }
  const bool turns = table.inter_steps_twice_nodes && kind == CollectiveKind::all_reduce;
  const int loop = turns ? cluster.nodes : cluster.nodes - 1;
  const int network_steps = cluster.nodes > 1 ? phases * loop : 0;
  float intra = local[ring][p];
  if (table.slow_ll_across_nodes && cluster.nodes > 1 && protocol == Protocol::ll) {
    intra = static_cast<float>(static_cast<double>(intra) * 1.8);
  }
  intra = std::max(intra, net_overhead(protocol, cluster, table));
  const bool lone = table.tree_latency_for_lone_ranks && cluster.gpus_per_node == 1;
  const float inter = table.network_latency[lone ? tree : ring][p];
  return base + static_cast<float>(steps - network_steps) * intra +
         static_cast<float>(network_steps) * inter;
}

float tree_latency(Protocol protocol, const Cluster& cluster, const NcclTuning& table) {
  const std::size_t tree = at(Algorithm::tree);
  const std::size_t p = at(protocol);
  float intra = local_latency(Algorithm::tree, cluster, table)[tree][p];
  // On POWER the bus between processors is fast, and NCCL favours trees there.
  if (cluster.cpu == CpuVendor::power && cluster.tree.intra_path != PathKind::nvlink &&
      protocol == Protocol::simple) {
    intra = table.pcie_latency[at(Algorithm::ring)][p];
  }
  if (table.slow_ll_across_nodes && cluster.nodes > 1 && protocol == Protocol::ll) {
    intra = static_cast<float>(static_cast<double>(intra) * 1.8);
  }
  const float inter = table.network_latency[tree][p];
  return table.base_latency[tree][p] + 2 * (static_cast<float>(cluster.gpus_per_node - 1) * intra +
                                            static_cast<float>(log2_floor(cluster.nodes)) * inter);
}

/// Whether NCCL's path from GPU to NIC crosses no host bridge and the NIC reaches GPU memory.
/// Slingshot's NICs are at the processor. The first generation of EFA (Volta's) stages in host
/// memory.
bool nic_beside_gpu(const Cluster& cluster) {
  const Network& network = cluster.network;
  if (network.kind == NetworkKind::tcp || network.kind == NetworkKind::slingshot) return false;
  if (network.kind == NetworkKind::efa && cluster.gpu.compute_capability < 80) return false;
  return network.gpudirect;
}

/// LL128 needs 128-byte stores that arrive whole: NVLink inside a node, GPUDirect outside.
bool ll128_works(Algorithm algorithm, const Cluster& cluster, const NcclTuning& table) {
  if (graph_of(algorithm, cluster).intra_path != PathKind::nvlink && cluster.gpus_per_node > 1) {
    return false;
  }
  if (cluster.nodes > 1 && !nic_beside_gpu(cluster)) return false;
  const int capability = cluster.gpu.compute_capability;
  if (table.ll128_max_capability == 0) return capability >= 70;
  return capability >= 70 && capability <= table.ll128_max_capability && capability % 10 == 0;
}

bool enabled(CollectiveKind kind, Algorithm algorithm, Protocol protocol, const Cluster& cluster,
             const CollectiveTuning& tuning, const NcclTuning& table) {
  if (!algorithm_exists(kind, algorithm, cluster, tuning, table)) return false;
  // Collectives other than all-reduces keep their rings regardless of NCCL_ALGO.
  const bool always = kind != CollectiveKind::all_reduce && algorithm == Algorithm::ring;
  if (!always && tuning.algorithms && !tuning.algorithms->has(algorithm)) return false;
  if (protocol == Protocol::ll128 && selects_by_thresholds(tuning.nccl)) return false;
  if (tuning.protocols) return tuning.protocols->has(protocol);
  if (protocol == Protocol::ll128 && cluster.nodes > 1 && cluster.calibration &&
      !cluster.calibration->selection.ll128_between_nodes)
    return false;
  return protocol != Protocol::ll128 || ll128_works(algorithm, cluster, table);
}

/// Latency and bandwidth, whether or not the entry may be used.
TuningEntry entry_of(CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                     const Cluster& cluster, const NcclTuning& table) {
  switch (algorithm) {
    case Algorithm::tree:
      return {tree_latency(protocol, cluster, table),
              bandwidth(kind, algorithm, protocol, cluster, table)};
    case Algorithm::ring:
      return {ring_latency(kind, protocol, cluster, table),
              bandwidth(kind, algorithm, protocol, cluster, table)};
    default:
      return in_switch_entry(kind, algorithm, protocol, cluster, table);
  }
}

}  // namespace

int log2_floor(std::int64_t n) {
  int log = 0;
  while ((n >>= 1) != 0) ++log;
  return log;
}

std::size_t generation_row(const Cluster& cluster, const NcclTuning& table) {
  const int capability = cluster.gpu.compute_capability;
  if (table.only_known_generations) return capability == 80 ? 1 : 0;
  if (capability >= 100) return 3;
  if (capability >= 90) return 2;
  return capability >= 80 ? 1 : 0;
}

std::size_t nodes_column(const Cluster& cluster) {
  return static_cast<std::size_t>(std::clamp(cluster.nodes, 1, 3) - 1);
}

TuningEntries tuning_entries(CollectiveKind kind, const Cluster& cluster,
                             const CollectiveTuning& tuning) {
  const NcclTuning& table = nccl_tuning(tuning.nccl);
  TuningEntries entries{};
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      TuningEntry& entry = entries[at(algorithm)][at(protocol)];
      entry = entry_of(kind, algorithm, protocol, cluster, table);
      if (!enabled(kind, algorithm, protocol, cluster, tuning, table)) entry.bandwidth_gbps = 0;
    }
  }
  return entries;
}

}  // namespace ddpsim
