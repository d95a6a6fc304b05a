// A CLUSTER argument -> sealed cluster: a bundled name, a cluster file, or the one-line form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/cluster.hpp"

namespace ddpsim {

struct ClusterRequest {
  std::string text;                  ///< name[@NODES], path[@NODES], or "node:2 gpu:8xA100 …"
  std::optional<int> nodes;          ///< --nodes
  std::optional<int> gpus_per_node;  ///< --gpus-per-node: GPUs 0..G-1 are kept
};

/// Throws InputError.
Cluster load_cluster(const ClusterRequest& request);

/// The same at another size, whatever number of nodes the text itself names.
Cluster load_cluster_at(const std::string& text, int nodes, int gpus_per_node);

/// The cluster file of a CLUSTER argument with this calibration in it: what the argument says is
/// kept, a calibration it had is replaced. Throws InputError.
std::string calibrated_cluster_file(const std::string& text, const Calibration& calibration);

/// ddpsim.cluster/1 document.
Cluster parse_cluster(std::string_view text, const std::string& file);

/// `node:COUNT gpu:PER_NODExMODEL` then one of `nvswitch:BW | nvlink:LINKSxBW[:pair|mesh|cube] |
/// pcie:BW`, `nic:PER_NODExBW[:ib|roce|tcp|tcp-vm|tcpx|efa|slingshot]`, optional `oversubscription:R`,
/// `latency:T`, `connection:BW` (one TCP connection). Bandwidth per direction, any order.
Cluster parse_cluster_line(std::string_view line);

struct BundledCluster {
  std::string name;
  std::string summary;
};
std::vector<BundledCluster> bundled_clusters();

/// A row of the GPU catalogue; absent when unknown. Names are compared by model: "Tesla
/// V100-SXM2-16GB", "v100" and "V100" are the same.
std::optional<GpuModel> find_gpu(std::string_view name);
std::vector<std::string> gpu_names();
/// "V100" out of "Tesla V100-SXM2-32GB"; the text itself when no known model is in it.
std::string gpu_model_name(std::string_view full_name);

}  // namespace ddpsim
