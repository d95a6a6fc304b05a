// NCCL's choice of algorithm and protocol: the smallest of its own estimates; and the number of
// channels. Source: NCCL's graph/tuning.cc and enqueue.cc, 2.7 to 2.30. Before 2.5 there were
// thresholds instead of the table: nccl_thresholds.hpp.
#include <algorithm>
#include <limits>

#include "ddpsim/sim/nccl/near_choices.hpp"
#include "nccl_thresholds.hpp"
#include "nccl_tuning.hpp"

namespace ddpsim {
namespace {

/// Whether NCCL's tree correction applies. It applies to the algorithm Tree and, from NCCL 2.28 on,
/// to NVLSTree on Blackwell, unless the processor is an Arm.
bool bends_like_tree(Algorithm algorithm, const Cluster& cluster, const NcclTuning& table) {
  if (algorithm == Algorithm::tree) return true;
  return algorithm == Algorithm::nvls_tree && table.nvls == NvlsEra::v2_28 &&
         cluster.gpu.compute_capability >= 100 && cluster.cpu != CpuVendor::arm;
}

/// Channels between two ranks: the smallest number that any pair has, as a power of two. NVSwitch
/// gives a pair all links of its GPUs, and with them every channel. Elsewhere some pair has no
/// NVLink and counts two, as NICs do (NCCL_NCHANNELS_PER_NET_PEER).
int pair_channels(Bytes size, const Cluster& cluster, const CollectiveTuning& tuning) {
  const bool switched = cluster.nodes == 1 && cluster.intra.kind == IntraKind::nvswitch;
  int most = switched ? communicator_channels(cluster, tuning)
                      : std::min(2, communicator_channels(cluster, tuning));
  while ((most & (most - 1)) != 0) ++most;
  // Half of NCCL_P2P_NET_CHUNKSIZE between nodes, an eighth of NCCL_P2P_NVL_CHUNKSIZE inside.
  constexpr std::int64_t kLeastPart = 64 * 1024;
  const std::int64_t parts = (size.count() + kLeastPart - 1) / kLeastPart;
  return static_cast<int>(std::clamp<std::int64_t>(parts, 1, most));
}

/// Send and receive use no table: a pair uses LL up to a threshold, and Simple beyond. Source:
/// addP2pToPlan of NCCL's enqueue.cc (NCCL_P2P_LL_THRESHOLD) and ncclTopoGetNchannels of
/// graph/paths.cc.
CollectiveChoice select_send_recv(Bytes size, const Cluster& cluster,
                                  const CollectiveTuning& tuning) {
  constexpr Bytes kLl{16'384};
  constexpr NcclVersion kFirstLl{2, 13, 0};  // first version with addP2pToPlan
  const bool ll = tuning.nccl >= kFirstLl && size <= kLl;
  return {.algorithm = Algorithm::ring,
          .protocol = ll ? Protocol::ll : Protocol::simple,
          .channels = pair_channels(size, cluster, tuning),
          .nccl_estimate = {},
          .buffer = tuning.buffer,
          .nccl = tuning.nccl};
}

}  // namespace

int communicator_channels(const Cluster& cluster, const CollectiveTuning& tuning) {
  const NcclTuning& table = nccl_tuning(tuning.nccl);
  const SearchGraph& ring = cluster.ring;
  int channels = std::min(table.max_channels, 2 * std::max(1, ring.channels));
  // Before 2.4 (rings.cu, net.cu), every NIC belonged to one ring, and rings were not doubled.
  const bool ring_per_nic = tuning.nccl < NcclVersion{2, 4, 0} && cluster.nodes > 1;
  if (ring_per_nic) channels = std::min(channels, std::max(1, cluster.network.nics_per_node));
  if (table.double_hopper_channels && cluster.gpu.compute_capability >= 90 && cluster.nodes > 1 &&
      ring.intra.gigabytes_per_second() > 45 && channels < 16) {
    channels = std::min(table.max_channels, 2 * channels);
  }
  if (tuning.max_channels) channels = std::min(channels, *tuning.max_channels);
  if (tuning.min_channels) channels = std::max(channels, *tuning.min_channels);
  return std::clamp(channels, 1, table.max_channels);
}

float estimate_us(CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                  const TuningEntry& entry, Bytes size, const Cluster& cluster,
                  const CollectiveTuning& tuning) {
  const NcclTuning& table = nccl_tuning(tuning.nccl);
  if (!(entry.bandwidth_gbps > 0)) return -1;
  float bandwidth = entry.bandwidth_gbps;
  float latency = entry.latency_us;
  const std::int64_t bytes = size.count();
  if (bends_like_tree(algorithm, cluster, table) && kind == CollectiveKind::all_reduce) {
    const auto power = static_cast<std::size_t>(log2_floor(bytes >> 6));
    const auto& correction = table.tree_correction[at(protocol)];
    if (power < correction.size()) bandwidth *= correction[power];
  }
  if (algorithm == Algorithm::ring && protocol == Protocol::simple && cluster.nodes > 1 &&
      kind == CollectiveKind::all_reduce) {
    const int ranks = cluster.ranks();
    if (table.plateau_by_ranks) {
      if (static_cast<double>(bytes) >= ranks / 16.0 * 65536) latency *= 1.9f;
    } else if (bytes / (std::int64_t{communicator_channels(cluster, tuning)} * ranks) >= 64) {
      latency *= cluster.gpu.compute_capability < 80 ? 1.9f : 1.4f;
    }
  }
  return latency + static_cast<float>(bytes) / (1000 * bandwidth);
}

int operation_channels(Algorithm algorithm, Protocol protocol, Bytes size, const Cluster& cluster,
                       const CollectiveTuning& tuning) {
  if (algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree) {
    return std::max(1, cluster.nvls_channels);  // for any size
  }
  constexpr double kPcieWidth = 12;  // GB/s: a slower ring gets fewer threads
  const bool ring = algorithm == Algorithm::ring;
  std::int64_t threads = 512;
  std::int64_t bytes_per_thread = 64;
  if (algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain) {
    threads = 640;
    bytes_per_thread = 512;
  }
  if (protocol == Protocol::ll) bytes_per_thread = ring ? 8 * std::int64_t{cluster.ranks()} : 8;
  if (protocol == Protocol::ll128) {
    threads = 640;
    bytes_per_thread = 8;
  }
  const SearchGraph& graph = cluster.ring;
  if (ring && protocol == Protocol::simple &&
      graph.intra.gigabytes_per_second() * graph.channels <= kPcieWidth) {
    threads = 256;
  }
  std::int64_t channels = communicator_channels(cluster, tuning);
  while (channels >= 2 && size.count() < channels * threads * bytes_per_thread) --channels;
  return static_cast<int>(channels);
}

namespace {

/// Calls `take(algorithm, protocol, us, weight)` for everything that NCCL compares: its estimate,
/// and the compared weight. For trees, the weight is the estimate times the factor found by a
/// calibration.
template <typename Take>
void for_each_estimate(CollectiveKind kind, Bytes size, const Cluster& cluster,
                       const CollectiveTuning& tuning, Take take) {
  const TuningEntries entries = tuning_entries(kind, cluster, tuning);
  const float tree_factor = cluster.calibration && cluster.nodes > 1
                                ? static_cast<float>(cluster.calibration->selection.tree_factor)
                                : 1.0f;
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      const float us = estimate_us(kind, algorithm, protocol, entries[at(algorithm)][at(protocol)],
                                   size, cluster, tuning);
      if (us < 0) continue;
      take(algorithm, protocol, us, us * (algorithm == Algorithm::tree ? tree_factor : 1.0f));
    }
  }
}

/// CollectiveChoice::channel_limit for these settings.
int channel_limit(const Cluster& cluster, const CollectiveTuning& tuning) {
  if (!tuning.max_channels) return 0;
  CollectiveTuning own = tuning;
  own.max_channels.reset();
  const int channels = communicator_channels(cluster, tuning);
  return channels < communicator_channels(cluster, own) ? channels : 0;
}

}  // namespace

CollectiveChoice select_algorithm(CollectiveKind kind, Bytes size, const Cluster& cluster,
                                  const CollectiveTuning& tuning) {
  CollectiveChoice best;
  best.buffer = tuning.buffer;
  best.nccl = tuning.nccl;
  if (cluster.ranks() <= 1) return best;
  if (kind == CollectiveKind::send_recv) return select_send_recv(size, cluster, tuning);
  const int limit = channel_limit(cluster, tuning);
  if (selects_by_thresholds(tuning.nccl)) {
    best = select_by_thresholds(kind, size, cluster, tuning);
    best.channel_limit = limit;
    return best;
  }
  best.channel_limit = limit;
  float best_us = -1;
  float best_weight = -1;
  for_each_estimate(kind, size, cluster, tuning,
                    [&](Algorithm algorithm, Protocol protocol, float us, float weight) {
                      if (best_weight >= 0 && weight >= best_weight) return;
                      best_weight = weight;
                      best_us = us;
                      best.algorithm = algorithm;
                      best.protocol = protocol;
                    });
  best.channels = operation_channels(best.algorithm, best.protocol, size, cluster, tuning);
  best.nccl_estimate = Duration::microseconds(static_cast<double>(std::max(best_us, 0.0f)));
  return best;
}

std::vector<CollectiveChoice> near_choices(CollectiveKind kind, Bytes size, const Cluster& cluster,
                                           const CollectiveTuning& tuning, double within) {
  std::vector<CollectiveChoice> near{select_algorithm(kind, size, cluster, tuning)};
  const bool weighed = cluster.ranks() > 1 && kind != CollectiveKind::send_recv &&
                       !selects_by_thresholds(tuning.nccl);
  if (!weighed) return near;
  float least = std::numeric_limits<float>::infinity();
  for_each_estimate(kind, size, cluster, tuning, [&](Algorithm, Protocol, float, float weight) {
    least = std::min(least, weight);
  });
  for_each_estimate(
      kind, size, cluster, tuning,
      [&](Algorithm algorithm, Protocol protocol, float us, float weight) {
        CollectiveChoice other = near.front();
        if (weight > least * within || (algorithm == other.algorithm && protocol == other.protocol))
          return;
        other.algorithm = algorithm;
        other.protocol = protocol;
        other.channels = operation_channels(algorithm, protocol, size, cluster, tuning);
        other.nccl_estimate = Duration::microseconds(static_cast<double>(us));
        near.push_back(other);
      });
  return near;
}

bool can_select_algorithm(const Cluster& cluster, const CollectiveTuning& tuning) {
  if (cluster.ranks() <= 1) return true;
  for (const auto& row : tuning_entries(CollectiveKind::all_reduce, cluster, tuning)) {
    for (const TuningEntry& entry : row) {
      if (entry.bandwidth_gbps > 0) return true;
    }
  }
  return false;
}

}  // namespace ddpsim
