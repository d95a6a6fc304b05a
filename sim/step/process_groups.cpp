#include "process_groups.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddpsim {
namespace {

/// Large enough that only bandwidth matters.
constexpr Bytes kManyBytes = Bytes(std::int64_t{1} << 30);

/// The job of the ranks with the same shard: one of each group.
Job between_groups(const Job& job, int ranks) {
  const int of_node = job.cluster().gpus_per_node;
  if (ranks >= job.cluster().ranks()) return job;
  if (ranks < of_node) return job.within(job.cluster().nodes, of_node / ranks);
  return job.within(job.cluster().nodes / (ranks / of_node), 1);
}

/// Bytes that leave a rank or node per second, counted like busbw.
double rate_of_all_reduces(const Job& job) {
  const int ranks = job.cluster().ranks();
  const Duration busy = plan(job, CollectiveKind::all_reduce, kManyBytes, kUnrecorded).volume;
  if (ranks < 2 || busy <= Duration()) return 0;
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(kManyBytes.count()) / busy.seconds();
}

std::uint8_t links_of(const Cluster& group) {
  if (group.nodes == 1) return kInsideNodes;
  return group.gpus_per_node == 1 ? kBetweenNodes : kAllLinks;
}

}  // namespace

Job group_of(const Job& job, int ranks) {
  const int of_node = job.cluster().gpus_per_node;
  if (ranks >= job.cluster().ranks()) return job;
  return ranks < of_node ? job.within(1, ranks) : job.within(ranks / of_node);
}

ProcessGroups::ProcessGroups(const Job& job, int ranks)
    : job_(job),
      ranks_(std::min(ranks, job.cluster().ranks())),
      group_(group_of(job, ranks_)),
      between_(between_groups(job, ranks_)) {}

StepCollective ProcessGroups::within(CollectiveKind kind, Bytes size) const {
  StepCollective collective = planned_collective(group_, kind, size, kUnrecorded);
  if (ranks_ < job_.cluster().ranks()) collective.scheduled.links = links_of(group_.cluster());
  return collective;
}

StepCollective ProcessGroups::all_reduce_between(Bytes shard) const {
  StepCollective collective =
      planned_collective(between_, CollectiveKind::all_reduce, shard, kUnrecorded);
  collective.scheduled.links = links_of(between_.cluster());
  const double together = rate_of_all_reduces(job_);
  const int of_node = std::min(ranks_, job_.cluster().gpus_per_node);
  if (between_.cluster().nodes > 1 && together > 0) {
    const double factor = of_node * rate_of_all_reduces(between_) / together;
    const Duration longer =
        collective.scheduled.volume.scaled(std::max(factor, 1.0)) - collective.scheduled.volume;
    collective.scheduled.volume += longer;
    collective.scheduled.transfer += longer;
  }
  return collective;
}

std::optional<std::string> cannot_group(const Job& job, int ranks, const std::string& option) {
  const Cluster& cluster = job.cluster();
  const int of_node = cluster.gpus_per_node;
  if (ranks == cluster.ranks()) return std::nullopt;
  const bool parts = ranks >= 1 && ranks < of_node && of_node % ranks == 0;
  const bool whole =
      ranks >= of_node && ranks % of_node == 0 && cluster.nodes % (ranks / of_node) == 0;
  if (!parts && !whole)
    return fmt::format(
        "{}={}: a group must be GPUs of one node or whole nodes. {} has {} with {} GPUs. Take a "
        "number that divides {}, or a multiple of {} that divides {}",
        option, ranks, cluster.name,
        cluster.nodes == 1 ? "one node" : fmt::format("{} nodes", cluster.nodes), of_node, of_node,
        of_node, cluster.ranks());
  if (std::holds_alternative<FlowModel>(job.model()))
    return fmt::format(
        "{}={}: process groups are not simulated over the flow network, which only knows "
        "collectives of all ranks. Leave out --network flow",
        option, ranks);
  const bool known =
      ranks < of_node
          ? job.has_group(1, ranks) && job.has_group(cluster.nodes, of_node / ranks)
          : job.has_group(ranks / of_node) && job.has_group(cluster.nodes / (ranks / of_node), 1);
  if (!known)
    return fmt::format(
        "{}={}: the cluster's nodes differ, so collectives within some of them cannot be predicted",
        option, ranks);
  return std::nullopt;
}

}  // namespace ddpsim
