#include "cluster_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ddpsim/formats/usage_error.hpp"

namespace ddpsim {
namespace {

/// Adds the group of --sync-batchnorm-group, which consists of whole nodes.
void add_batchnorm_group(int ranks, const Cluster& cluster, std::vector<GroupSize>& groups) {
  const int of_node = cluster.gpus_per_node;
  if (ranks % of_node != 0 || cluster.ranks() % ranks != 0)
    throw UsageError(
        fmt::format("--sync-batchnorm-group {}", ranks),
        fmt::format("a group must consist of whole nodes: {} has {} of {} GPUs, so the size "
                    "must be a multiple of {} that divides {}",
                    cluster.name, cluster.nodes, of_node, of_node, cluster.ranks()));
  if (ranks != of_node) groups.push_back({ranks / of_node});
}

/// Adds the process groups of --scheme, and those of ranks that hold the same shard.
void add_groups(const Scheme& scheme, const Cluster& cluster, std::vector<GroupSize>& groups) {
  const int of_node = cluster.gpus_per_node;
  for (const int ranks : groups_of(scheme, cluster.gpus_per_host())) {
    if (ranks < of_node) {
      groups.push_back({1, ranks});
      groups.push_back({GroupSize::kAllNodes, std::max(of_node / ranks, 1)});
    } else {
      const int nodes = std::max(ranks / of_node, 1);
      groups.push_back({nodes});
      groups.push_back({nodes == 1 ? GroupSize::kAllNodes : std::max(cluster.nodes / nodes, 1), 1});
    }
  }
}

}  // namespace

Cluster cluster_with_groups(const JobRequest& request, const ClusterReaders& readers) {
  ClusterRequest wanted = request.cluster;
  wanted.groups = {{1}};  // for local SGD
  Cluster cluster = readers.cluster(wanted);
  const std::size_t usual = wanted.groups.size();
  if (request.scheme) add_groups(*request.scheme, cluster, wanted.groups);
  if (const std::optional<int> ranks = request.ddp.sync_batchnorm_group)
    add_batchnorm_group(*ranks, cluster, wanted.groups);
  return wanted.groups.size() == usual ? cluster : readers.cluster(wanted);
}

}  // namespace ddpsim
