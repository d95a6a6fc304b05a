// NCCL's tuning model: the time it expects from every (algorithm, protocol) pair, by version.
//
//   time = latency * plateau + size / (algorithm bandwidth * tree correction)
//
// latency and bandwidth come from the channel search and from tables that change with the version.
// This estimate only selects; what a collective takes is the pipeline cost model's matter. The figures
// are those of NCCL's graph/tuning.cc, and the arithmetic keeps its single precision so that close
// decisions fall the same way.
//
// Not modelled: mixed GPUs, tuner plugins. CollNet has no search of its own here: its heads are the tree's channels.
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
  v2_7,   ///< caps per collective, tree caps for the whole node
  v2_8,   ///< caps per channel by generation, LL128's by collective still
  v2_10,  ///< caps per channel by generation
};

/// How one version rates NVLS and NVLSTree.
enum class NvlsEra {
  none,   ///< before 2.17
  v2_17,  ///< a share of the heads' bandwidth; a tree latency linear in the nodes
  v2_21,  ///< the tree by the logarithm of the nodes, half the network beyond two
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
  bool fast_trees = true;                ///< a tree may be faster inside two nodes than between
  bool one_collnet = false;              ///< CollNet was one algorithm, a chain, with LL too
  bool only_known_generations = false;   ///< sm_80 exactly is Ampere, everything else Volta
  double ring_ll_factor = 0.5;           ///< 0: one quarter, or one third for a local broadcast
  bool ring_ll128_single_rank = false;   ///< factor 0.7 instead of 0.92 with one rank per node
  bool cap_ampere = false;               ///< bus bandwidth of sm_80 at most 235
  bool slow_ll_across_nodes = false;     ///< LL's local latency x 1.8 with several nodes
  bool inter_steps_twice_nodes = false;  ///< 2N network steps in a ring instead of 2(N - 1)
  bool dear_trees_at_one_gpu = false;    ///< a tree whose edges all end at one GPU counts 0.85
  bool net_overhead = true;              ///< a proxy's cost bounds every ring step from below
  bool tree_latency_for_lone_ranks =
      true;                       ///< ring uses the tree's network latency at one per node
  bool plateau_by_ranks = false;  ///< the older condition and always 1.9
  int ll128_max_capability = 0;   ///< 0: every GPU from sm_70 on; else 70, 80 .. this one
  int max_channels = 64;
  bool double_hopper_channels = true;  ///< fast GPUs on few channels double them once more
  std::array<std::array<float, 23>, kProtocols> tree_correction{};  ///< by log2(size / 64)
};

/// The newest table not newer than `version`; the oldest for anything older.
const NcclTuning& nccl_tuning(NcclVersion version);

/// One cell of NCCL's own table. Bandwidth 0 means disabled.
struct TuningEntry {
  float latency_us = 0;
  float bandwidth_gbps = 0;  ///< of the algorithm: size / bandwidth is its time
};

using TuningEntries = std::array<std::array<TuningEntry, kProtocols>, kAlgorithms>;

/// NCCL's table for one cluster, forced choices applied.
TuningEntries tuning_entries(CollectiveKind kind, const Cluster& cluster,
                             const CollectiveTuning& tuning);

/// NCCL's time for one cell in microseconds; negative when the cell is disabled.
float estimate_us(CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                  const TuningEntry& entry, Bytes size, const Cluster& cluster,
                  const CollectiveTuning& tuning);

/// Whether the version and the cluster have the algorithm at all, whatever NCCL_ALGO says.
bool algorithm_exists(CollectiveKind kind, Algorithm algorithm, const Cluster& cluster,
                      const CollectiveTuning& tuning, const NcclTuning& table);

/// Rows of the algorithms that reduce inside switches: a latency in microseconds and an algorithm
/// bandwidth in GB/s, 0 for protocols they do not run with.
TuningEntry in_switch_entry(CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                            const Cluster& cluster, const NcclTuning& table);

/// Row of the generation tables: Volta, Ampere, Hopper, Blackwell.
std::size_t generation_row(const Cluster& cluster, const NcclTuning& table);
/// Their column: one node, two, more.
std::size_t nodes_column(const Cluster& cluster);
/// Floor of the base-2 logarithm; 0 for 0, as in NCCL.
int log2_floor(std::int64_t n);

/// Channels of the communicator's rings and trees: the search's, doubled, then bounded by the user.
int communicator_channels(const Cluster& cluster, const CollectiveTuning& tuning);

/// Channels that an operation of `size` uses.
int operation_channels(Algorithm algorithm, Protocol protocol, Bytes size, const Cluster& cluster,
                       const CollectiveTuning& tuning);

}  // namespace ddpsim
