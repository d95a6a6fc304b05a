#include "dominance.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "shared_errors.hpp"

namespace ddpsim {
namespace {

/// Less is better here. A value that neither cluster states is taken to be the same for both.
template <class T>
bool no_more(const std::optional<T>& to, const std::optional<T>& from) {
  return to == from || (to && from && *to <= *from);
}

bool is_wider(const Interconnect& from, const Interconnect& to) {
  return from.kind == to.kind && from.peers == to.peers && from.per_gpu <= to.per_gpu &&
         from.links_per_gpu <= to.links_per_gpu && from.to_host <= to.to_host;
}

bool is_wider(const Network& from, const Network& to) {
  const bool same_kind = from.kind == to.kind && from.sockets == to.sockets;
  const bool connects = from.connection == to.connection ||
                        (from.connection && to.connection && *from.connection <= *to.connection);
  return same_kind && connects && from.nics_per_node <= to.nics_per_node &&
         from.per_nic <= to.per_nic && no_more(to.latency, from.latency) &&
         to.oversubscription <= from.oversubscription && from.gpudirect <= to.gpudirect &&
         from.collnet <= to.collnet;
}

/// Whether every wire on a channel's path carries at least as much: slots, uplinks, degraded links.
bool carries_no_less(const Cluster& from, const Cluster& to) {
  if (!from.loads || !to.loads) return !from.loads && !to.loads;
  return std::ranges::all_of(
      std::initializer_list<ChannelShape>{ChannelShape::ring, ChannelShape::tree,
                                          ChannelShape::in_switch},
      [&](ChannelShape shape) { return most_busbw(shape, from) <= most_busbw(shape, to); });
}

/// Whether the second variant of a GPU model is nowhere worse than the first.
bool is_no_less(const GpuModel& from, const GpuModel& to) {
  return from.sms <= to.sms && from.memory_bandwidth <= to.memory_bandwidth &&
         from.fp32_tflops <= to.fp32_tflops && from.tf32_tflops <= to.tf32_tflops &&
         from.half_tflops <= to.half_tflops && from.memory <= to.memory;
}

}  // namespace

bool is_dominated_by(const Cluster& from, const Cluster& to) {
  const auto nodes = [](const Cluster& cluster) {
    return std::tie(cluster.nodes, cluster.gpus_per_node, cluster.gpu.name, cluster.cpu);
  };
  return nodes(from) == nodes(to) && is_no_less(from.gpu, to.gpu) &&
         have_same_calibration(from, to) && is_wider(from.intra, to.intra) &&
         (from.nodes == 1 || is_wider(from.network, to.network)) &&
         to.tree_at_one_gpu <= from.tree_at_one_gpu && carries_no_less(from, to);
}

std::optional<OtherChoice> other_choice(const Job& from, const Job& to) {
  if (from.cluster().ranks() == 1) return std::nullopt;
  const AnalyticModel* here = nccl_of(from.model());
  const AnalyticModel* there = nccl_of(to.model());
  if (here == nullptr || there == nullptr) return std::nullopt;
  std::vector<Bytes> sizes = all_reduce_sizes(from);
  std::ranges::sort(sizes, std::ranges::greater());
  for (const Bytes size : sizes) {
    const auto choice = [&](const Job& job, const AnalyticModel& model) {
      return select_algorithm(CollectiveKind::all_reduce, size, job.cluster(), model.tuning);
    };
    const CollectiveChoice before = choice(from, *here);
    const CollectiveChoice after = choice(to, *there);
    if (before.algorithm != after.algorithm || before.protocol != after.protocol ||
        before.channels != after.channels)
      return OtherChoice{size, before, after};
  }
  return std::nullopt;
}

}  // namespace ddpsim
