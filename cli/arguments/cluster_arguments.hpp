// CLUSTER and what one may set of NCCL on it, spelled alike in every command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct ClusterArguments {
  std::string text;
  std::optional<int> nodes;
  std::optional<int> gpus_per_node;
  std::optional<std::string> nccl;
  std::optional<std::string> algorithm;
  std::optional<std::string> protocol;
  std::optional<int> min_channels;
  std::optional<int> max_channels;
  std::optional<std::string> buffer_size;
  bool no_nvls = false;
  bool collnet = false;
  bool near = false;  ///< Cluster::near is wanted: an advice is asked for
};

/// CLUSTER, --nodes, --gpus-per-node.
void add_cluster_options(CLI::App& command, ClusterArguments& arguments);
/// --nccl and what NCCL's environment variables set.
void add_nccl_options(CLI::App& command, ClusterArguments& arguments);

ClusterRequest cluster_request(const ClusterArguments& arguments);

/// Throws UsageError, also for an option the version lacks.
CollectiveTuning collective_tuning(const ClusterArguments& arguments, NcclVersion usual);
/// The value of --nccl; absent where it was not given. Throws UsageError.
std::optional<NcclVersion> stated_nccl(const std::optional<std::string>& text);

/// Throws UsageError where an option is used that this NCCL does not have.
void require_version(const char* option, bool used, const CollectiveTuning& tuning,
                     NcclVersion since);

/// Throws UsageError when the cluster has nothing of what the options allow.
void require_choice(const ClusterArguments& arguments, const Cluster& cluster,
                    const CollectiveTuning& tuning);

/// That nobody measured this cluster, or nobody at this shape, at these sizes or with this NCCL.
std::vector<std::string> cluster_warnings(const Cluster& cluster, const CollectiveTuning& tuning,
                                          const std::vector<Bytes>& sizes);
/// Figures that are hardly meant, and how ranks are taken to lie on an oversubscribed network: another answer would hold
/// where these are wrong.
std::vector<std::string> decisive_warnings(const Cluster& cluster, Backend backend);
/// Sentences about a version whose tables are not known here.
std::vector<std::string> nccl_warnings(const CollectiveTuning& tuning);

}  // namespace ddpsim
