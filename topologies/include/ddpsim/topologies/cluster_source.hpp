// A CLUSTER argument -> sealed cluster: a bundled name, a cluster file, or the one-line form.
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

/// Of a process group: so many GPUs of so many nodes, as NCCL counts nodes (Cluster::nodes).
struct GroupSize {
  /// However many the cluster has, or its neighbours with other numbers of nodes (Cluster::near).
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
  bool near = false;                   ///< Cluster::near is wanted
};

/// Throws InputError.
Cluster load_cluster(const ClusterRequest& request);

/// Whether a CLUSTER argument can only mean a cluster: a line, a bundled name, a file that looks like
/// one; what is wrong with it is another question. Throws nothing.
bool is_cluster(const std::string& text);

/// Path of the archive or folder of scripts/collect.sh that a CLUSTER argument names, with its all-reduces: not "…:spec".
std::optional<std::string> archive_named(const std::string& text);

/// The same at another size, by NCCL's count of nodes, whatever number of nodes the text itself names.
Cluster load_cluster_at(const std::string& text, int nodes, int gpus_per_node);

/// What others measured of a machine of its kind: as its file says, or that of the bundled cluster it was made
/// of; null where nothing is published.
std::shared_ptr<const Calibration> published_calibration(const std::string& text);

/// The cluster file of a CLUSTER argument with this calibration in it: what the argument says is
/// kept, a calibration it had is replaced. Throws InputError.
std::string calibrated_cluster_file(const std::string& text, const Calibration& calibration);
/// The same of gloo's; NCCL's is kept.
std::string gloo_calibrated_cluster_file(const std::string& text,
                                         const GlooCalibration& calibration);

/// What a cluster file, ddpsim.cluster/1, may hold.
const ObjectType& cluster_document();
Cluster parse_cluster(std::string_view text, const std::string& file);

/// `node:COUNT gpu:PER_NODExMODEL` then one of `nvswitch:BW | nvlink:LINKSxBW[:pair|mesh|cube] |
/// xgmi:LINKSxBW[:pair|mesh] | pcie:BW`, `nic:PER_NODEx[PORTSx]BW[:ib|roce|tcp|tcp-vm|tcpx|efa|slingshot]`,
/// optional `domain:NODES` (they share an NVLink domain), `oversubscription:R[,R]`, `leaf:NODES [pod:NODES]` or
/// `rail:NODES`, `placement:ordered|scattered`, `latency:T`, `connection:BW` (one TCP connection).
/// Bandwidth per direction, any order.
Cluster parse_cluster_line(std::string_view line);

struct BundledCluster {
  std::string name;
  std::string summary;
  std::string gpu;  ///< "V100-16GB"; where no source says which, the one that is taken
  std::vector<int>
      calibrated_nodes;  ///< numbers of nodes whose published logs calibrate it, each once
};
std::vector<BundledCluster> bundled_clusters();

/// A row of the GPU catalogue; absent when the model is unknown. Takes names as users and devices write them: "Tesla
/// V100-SXM2-16GB" is "V100-16GB". A name that several variants have, or none, gives the model's first that fits and
/// sets `variant_open`. A part of a GPU (MIG, vGPU) is no row.
std::optional<GpuModel> find_gpu(std::string_view name);
/// The word of a name that no variant of its model has: "@2" of "A6000@2", "94GB" of "A100-94GB"; empty where none is
/// left.
std::string beyond_gpu_name(std::string_view name);
/// What is wrong with a name that somebody typed; empty: nothing.
std::string gpu_name_problem(std::string_view name);
/// All variants, by family, models with the fastest in half precision first.
struct GpuFamily {
  std::string name;
  std::vector<GpuModel> gpus;
};
std::vector<GpuFamily> gpu_families();
/// What to write instead of a name: the model's variants; for an unknown model names spelt alike, and all by speed.
std::string gpus_instead_of(std::string_view name);
/// "V100" out of "Tesla V100-SXM2-32GB"; the text itself when no known model is in it.
std::string gpu_model_name(std::string_view full_name);

}  // namespace ddpsim
