// CLUSTER and the options of the cluster and of NCCL, spelled the same in every command.
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
  /// Whether to fill Cluster::near, which advice needs.
  bool near = false;
};

/// Adds CLUSTER, --nodes and --gpus-per-node.
void add_cluster_options(CLI::App& command, ClusterArguments& arguments);
/// Adds --nccl and the options that stand for NCCL's environment variables.
void add_nccl_options(CLI::App& command, ClusterArguments& arguments);

ClusterRequest cluster_request(const ClusterArguments& arguments);

/// Returns the settings of NCCL's environment variables, without the NCCL version. Throws UsageError.
CollectiveTuning collective_tuning(const ClusterArguments& arguments);
/// Returns the value of --nccl, if given. Throws UsageError.
std::optional<NcclVersion> stated_nccl(const std::optional<std::string>& text);

}  // namespace ddpsim
