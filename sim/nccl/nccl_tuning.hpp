// NCCL's tuning model: the time it expects from every (algorithm, protocol) pair, by version.
//
//   time = latency * plateau + size / (algorithm bandwidth * tree correction)
//
// Latency and bandwidth come from the channel search and from tables that change with the version.
// The estimate only selects; the pipeline cost model predicts. The numbers are those of NCCL's
// graph/tuning.cc. The arithmetic keeps NCCL's single precision, so that close decisions come out
// the same.
//
// Not modelled: mixed GPUs and tuner plugins. CollNet has no channel search of its own here: its
// heads are the tree's channels.
#pragma once

#include <array>

#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

/// Microseconds or GB/s by [algorithm][protocol], in NCCL's index order.
using PairTable = std::array<std::array<float, kProtocols>, kAlgorithms>;
constexpr std::size_t at(Algorithm algorithm) {
  return static_cast<std::size_t>(algorithm);
}
constexpr std::size_t at(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}
/// GB/s by number of nodes: one, two, more.
using NodesRow = std::array<double, 3>;
/// Rows by GPU generation: Volta, Ampere, Hopper, Blackwell.
using GenerationTable = std::array<NodesRow, 4>;

/// How one version shapes the ring's and the tree's bandwidth.
enum class TuningEra {
  /// Caps per collective, and tree caps for the whole node.
  v2_7,
  /// Caps per channel by generation, but LL128's are still by collective.
  v2_8,
  v2_10,  ///< caps per channel by generation
};

/// How one version rates NVLS and NVLSTree.
enum class NvlsEra {
  none,  ///< before 2.17
  /// A share of the heads' bandwidth. A tree's latency is linear in the nodes.
  v2_17,
  /// Trees by the logarithm of the nodes, and half the network beyond two nodes.
  v2_21,
  v2_28,  ///< an efficiency by generation, as ring bandwidth
};

/// What differs between versions of the model.
struct NcclTuning {
  NcclVersion version;
  TuningEra era = TuningEra::v2_10;
  PairTable base_latency{};
  PairTable nvlink_latency{};
  PairTable pcie_latency{};
  PairTable network_latency{};
  GenerationTable ll_max{};      ///< whole operation, not per channel
  GenerationTable ring_ll128{};  ///< per channel
  GenerationTable tree_ll128{};  ///< per channel
  GenerationTable tree{};        ///< per channel
  GenerationTable nvls_tree{};   ///< per channel; only since 2.28
  NvlsEra nvls = NvlsEra::none;
  /// Whether a tree may be faster inside two nodes than between them.
  bool fast_trees = true;
  /// Whether CollNet is one algorithm, a chain, that also runs with LL.
  bool one_collnet = false;
  /// Whether only sm_80 counts as Ampere, and everything else as Volta.
  bool only_known_generations = false;
  /// If it is 0, it is one quarter, or one third for a local broadcast.
  double ring_ll_factor = 0.5;
  /// Whether the factor is 0.7 instead of 0.92 with one rank per node.
  bool ring_ll128_single_rank = false;
  bool cap_ampere = false;            ///< bus bandwidth of sm_80 at most 235
  bool slow_ll_across_nodes = false;  ///< LL's local latency x 1.8 with several nodes
  /// Whether a ring has 2N network steps instead of 2(N - 1).
  bool inter_steps_twice_nodes = false;
  /// Whether a tree whose edges all end at one GPU counts only 0.85.
  bool dear_trees_at_one_gpu = false;
  /// Whether a proxy's cost is a lower bound for every ring step.
  bool net_overhead = true;
  /// Whether a ring uses the tree's network latency with one rank per node.
  bool tree_latency_for_lone_ranks = true;
  bool plateau_by_ranks = false;  ///< the older condition and always 1.9
  /// Newest compute capability with LL128, from sm_70 on. 0: no limit.
  int ll128_max_capability = 0;
  int max_channels = 64;
  /// Whether fast GPUs with few channels double them once more.
  bool double_hopper_channels = true;
  std::array<std::array<float, 23>, kProtocols> tree_correction{};  ///< by log2(size / 64)
};

/// The newest table that is not newer than `version`, or the oldest one.
const NcclTuning& nccl_tuning(NcclVersion version);

/// One cell of NCCL's own table. Bandwidth 0 means disabled.
struct TuningEntry {
  float latency_us = 0;
  float bandwidth_gbps = 0;  ///< algorithm bandwidth: size / time
};

using TuningEntries = std::array<std::array<TuningEntry, kProtocols>, kAlgorithms>;

/// NCCL's table for one cluster, after forced choices.
TuningEntries tuning_entries(CollectiveKind kind, const Cluster& cluster,
                             const CollectiveTuning& tuning);

/// NCCL's time for one cell in microseconds; negative when the cell is disabled.
float estimate_us(CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                  const TuningEntry& entry, Bytes size, const Cluster& cluster,
                  const CollectiveTuning& tuning);

/// Whether the version and the cluster support the algorithm, regardless of NCCL_ALGO.
bool algorithm_exists(CollectiveKind kind, Algorithm algorithm, const Cluster& cluster,
                      const CollectiveTuning& tuning, const NcclTuning& table);

/// Entries of algorithms that reduce inside switches: latency in microseconds and algorithm
/// bandwidth in GB/s. The bandwidth is 0 for protocols they do not run with.
TuningEntry in_switch_entry(CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                            const Cluster& cluster, const NcclTuning& table);

/// Row of the generation tables: Volta, Ampere, Hopper, Blackwell.
std::size_t generation_row(const Cluster& cluster, const NcclTuning& table);
/// Column of the generation tables: one node, two, more.
std::size_t nodes_column(const Cluster& cluster);
/// Floor of the base-2 logarithm; 0 for 0, as in NCCL.
int log2_floor(std::int64_t n);

/// Channels of the communicator's rings and trees: the search's, doubled, then limited by the user.
int communicator_channels(const Cluster& cluster, const CollectiveTuning& tuning);

/// Channels used by an operation of `size`.
int operation_channels(Algorithm algorithm, Protocol protocol, Bytes size, const Cluster& cluster,
                       const CollectiveTuning& tuning);

}  // namespace ddpsim
