// CLUSTER and what one may set of NCCL on it, spelled alike in every command.
#pragma once

#include <optional>
#include <string>

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

/// What NCCL's environment variables set; its version is not among it. Throws UsageError.
CollectiveTuning collective_tuning(const ClusterArguments& arguments);
/// The value of --nccl; absent where it was not given. Throws UsageError.
std::optional<NcclVersion> stated_nccl(const std::optional<std::string>& text);

}  // namespace ddpsim
