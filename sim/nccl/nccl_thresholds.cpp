#include "nccl_thresholds.hpp"

#include <algorithm>
#include <limits>

#include "nccl_tuning.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kMostThreads = 256;
constexpr std::int64_t kLeastLlThreads = 64;
/// Bytes per thread at which LL uses another warp, and then another channel.
constexpr std::int64_t kLlBytesPerThread = 8;

std::int64_t divide_up(std::int64_t count, std::int64_t by) {
  return (count + by - 1) / by;
}

struct LlPlan {
  std::int64_t most_bytes;  ///< Simple runs above it
  int channels;
};

LlPlan ll_plan(bool tree, CollectiveKind kind, Bytes size, const Cluster& cluster,
               std::int64_t channels) {
  const bool in_parts = ring_phases(kind) > 0 && !tree;
  const std::int64_t chunks = in_parts ? cluster.ranks() : 1;
  const std::int64_t bytes = std::max<std::int64_t>(0, size.count());
  std::int64_t threads = kLeastLlThreads;
  while (threads < kMostThreads && divide_up(bytes, threads * chunks) > kLlBytesPerThread)
    threads *= 2;
  const std::int64_t used =
      std::clamp<std::int64_t>(divide_up(bytes, threads * chunks * kLlBytesPerThread), 1, channels);
  std::int64_t per_thread = cluster.gpu.compute_capability >= 70 ? 64 : 32;
  if (cluster.nodes > 1) per_thread *= 2;
  if (tree) per_thread *= 4;
  return {used * threads * chunks * per_thread, static_cast<int>(used)};
}

}  // namespace

bool selects_by_thresholds(NcclVersion nccl) {
  return nccl < NcclVersion{2, 5, 0};
}

Bytes tree_threshold(const Cluster& cluster, const CollectiveTuning& tuning) {
  if (cluster.nodes < 2) return Bytes();
  const bool nvlink = cluster.intra.kind != IntraKind::pcie;
  const float ring =
      nvlink ? 5000.0f * static_cast<float>(communicator_channels(cluster, tuning)) : 5000.0f;
  float tree = nvlink ? ring * 3 / 4 : ring * 2 / 3;
  if (nvlink && cluster.nodes == 2) tree *= 2;
  const float ring_latency = 6.0f * static_cast<float>(cluster.ranks() - 1);
  const float tree_latency = 15.0f * static_cast<float>(log2_floor(cluster.nodes)) +
                             4.0f * static_cast<float>(cluster.gpus_per_node - 1);
  if (ring_latency <= tree_latency) return Bytes();
  if (tree > ring) return Bytes(std::numeric_limits<std::int64_t>::max());
  return Bytes(
      static_cast<std::int64_t>(ring * tree / (ring - tree) * (ring_latency - tree_latency)));
}

CollectiveChoice select_by_thresholds(CollectiveKind kind, Bytes size, const Cluster& cluster,
                                      const CollectiveTuning& tuning) {
  const TuningEntries entries = tuning_entries(kind, cluster, tuning);
  const auto left = [&](Algorithm algorithm, Protocol protocol) {
    return entries[at(algorithm)][at(protocol)].bandwidth_gbps > 0;
  };
  const auto runs = [&](Algorithm algorithm) {
    return left(algorithm, Protocol::ll) || left(algorithm, Protocol::simple);
  };
  const bool trees = runs(Algorithm::tree);
  const bool tree = trees && (!runs(Algorithm::ring) || size <= tree_threshold(cluster, tuning));
  CollectiveChoice choice;
  choice.algorithm = tree ? Algorithm::tree : Algorithm::ring;
  choice.buffer = tuning.buffer;
  choice.nccl = tuning.nccl;
  choice.channels = communicator_channels(cluster, tuning);
  const LlPlan ll = ll_plan(tree, kind, size, cluster, choice.channels);
  const bool simple = left(choice.algorithm, Protocol::simple);
  if (left(choice.algorithm, Protocol::ll) && (!simple || size.count() <= ll.most_bytes)) {
    choice.protocol = Protocol::ll;
    choice.channels = ll.channels;
  }
  return choice;
}

}  // namespace ddpsim
