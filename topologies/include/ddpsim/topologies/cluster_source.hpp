// Reads a CLUSTER argument: a bundled name, a cluster file, or the one-line form.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

struct ObjectType;

/// Size of a process group. Nodes are counted as NCCL counts them (Cluster::nodes).
struct GroupSize {
  /// All nodes of the cluster, or of the neighbours with other numbers of nodes (Cluster::near).
  static constexpr int kAllNodes = std::numeric_limits<int>::max();

  int nodes = 1;                          ///< at most those of the cluster
  std::optional<int> gpus_per_node = {};  ///< absent: all of them
  bool operator==(const GroupSize&) const = default;
  // libc++ of the WebAssembly build has no three-way comparison of optional values.
  bool operator<(const GroupSize& other) const {
    return std::tie(nodes, gpus_per_node) < std::tie(other.nodes, other.gpus_per_node);
  }
};

struct ClusterRequest {
  std::string text;          ///< name[:spec][@NODES], path[@NODES], or "node:2 gpu:8xA100 …"
  std::optional<int> nodes;  ///< --nodes
  std::optional<int> gpus_per_node;    ///< --gpus-per-node: GPUs 0..G-1 are kept
  std::vector<GroupSize> groups = {};  ///< process groups wanted in Cluster::groups
  /// Whether to fill Cluster::near.
  bool near = false;
};

/// Throws InputError.
Cluster load_cluster(const ClusterRequest& request);

/// Whether a CLUSTER argument can only mean a cluster: a line, a bundled name, or a file that looks
/// like one. The cluster may still contain errors. Throws nothing.
bool is_cluster(const std::string& text);

/// Path of the archive or folder of scripts/collect.sh that a CLUSTER argument names. Absent if
/// ":spec" follows it, because then the measured all-reduces are not used.
std::optional<std::string> archive_named(const std::string& text);

/// Loads the cluster at another size. `nodes` are counted as NCCL counts them, and replace the
/// number of nodes in the text.
Cluster load_cluster_at(const std::string& text, int nodes, int gpus_per_node);

/// Published calibration of this kind of machine. It comes from the cluster file, or from the
/// bundled cluster that the file was made from. Null if nothing is published.
std::shared_ptr<const Calibration> published_calibration(const std::string& text);

/// The cluster file of a CLUSTER argument with `calibration` in it. Everything else that the
/// argument says is kept; an older calibration is replaced. Throws InputError.
std::string calibrated_cluster_file(const std::string& text, const Calibration& calibration);
/// The cluster file of a CLUSTER argument with a calibration of gloo in it. A calibration of NCCL
/// in it is kept.
std::string gloo_calibrated_cluster_file(const std::string& text,
                                         const GlooCalibration& calibration);

/// Describes the JSON document ddpsim.cluster/1.
const ObjectType& cluster_document();
Cluster parse_cluster(std::string_view text, const std::string& file);

/// Parses the one-line form. Bandwidths are per direction, and the words may come in any order:
///
///   node:COUNT gpu:PER_NODExMODEL
///   one of nvswitch:BW, nvlink:LINKSxBW[:pair|mesh|cube], xgmi:LINKSxBW[:pair|mesh], pcie:BW
///   nic:PER_NODEx[PORTSx]BW[:ib|roce|tcp|tcp-vm|tcpx|efa|slingshot]
///   optional: domain:NODES (nodes that share an NVLink domain), oversubscription:R[,R],
///             leaf:NODES [pod:NODES] or rail:NODES, placement:ordered|scattered, latency:T,
///             connection:BW (one TCP connection)
Cluster parse_cluster_line(std::string_view line);

struct BundledCluster {
  std::string name;
  std::string summary;
  /// "V100-16GB". If no source names the variant, this is the one that is assumed.
  std::string gpu;
  /// Numbers of nodes for which published logs calibrate the cluster, each listed once.
  std::vector<int> calibrated_nodes;
};
std::vector<BundledCluster> bundled_clusters();

/// A row of the GPU catalogue; absent if the model is unknown. Accepts names as users and devices
/// write them: "Tesla V100-SXM2-16GB" is "V100-16GB". If the name fits several variants or none,
/// returns the first one that fits and sets `variant_open`. A part of a GPU (MIG, vGPU) has no row.
std::optional<GpuModel> find_gpu(std::string_view name);
/// The word of a name that no variant of its model has: "@2" in "A6000@2", "94GB" in "A100-94GB".
/// Empty if every word is known.
std::string beyond_gpu_name(std::string_view name);
/// What is wrong with a name that a user typed; empty if nothing is.
std::string gpu_name_problem(std::string_view name);
/// A family with all its variants. The models that are fastest in half precision come first.
struct GpuFamily {
  std::string name;
  std::vector<GpuModel> gpus;
};
std::vector<GpuFamily> gpu_families();
/// What to suggest if a GPU's name cannot be used: the variants of that GPU model. If no model has
/// the name: similarly spelled names, then all GPU models by speed.
std::string gpus_instead_of(std::string_view name);
/// Model in a device name: "V100" in "Tesla V100-SXM2-32GB". Returns the text itself if it contains
/// no known model.
std::string gpu_model_name(std::string_view full_name);

}  // namespace ddpsim
