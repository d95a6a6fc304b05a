// What a cluster file or a one-line cluster states, before it is resized and resolved. Both readers
// fill this structure. Rings and channels are derived later.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

inline constexpr std::int64_t kMostNodes = 1'000'000;
inline constexpr std::int64_t kMostGpusPerNode = 576;  // the largest announced NVLink domain
inline constexpr std::int64_t kMostRanks = 10'000'000;
inline constexpr std::int64_t kMostLinksPerGpu = 64;
inline constexpr std::int64_t kMostNicsPerNode = kMostGpusPerNode;  // a NIC for every GPU
inline constexpr double kMostOversubscription = 1'000;
inline constexpr std::int64_t kMostNodesPerLeaf = 65'536;

/// The pairs of GPUs that direct NVLinks join.
enum class NvlinkLayout {
  pair,  ///< two GPUs, all links between them
  mesh,  ///< all pairs, with equally many links each
  cube,  ///< the hybrid cube mesh of DGX-1, eight GPUs
};

struct NodeDescription;

struct InterconnectDescription {
  IntraKind kind = IntraKind::none;
  Bandwidth per_gpu;      ///< nvswitch and pcie; nominal, one direction
  int links_per_gpu = 0;  ///< nvlink
  Bandwidth per_link;     ///< nvlink; nominal, one direction
  NvlinkLayout layout = NvlinkLayout::pair;
  std::optional<PeerAccess> peers;  ///< pcie, when stated
  int gpus_per_root = 0;            ///< pcie; 0: not stated
};

/// GeForce and TITAN cards. Their driver gives neither peers nor NICs access to GPU memory.
bool is_geforce(const GpuModel& gpu);

/// The stated access, or by default what the driver of such a GPU allows.
PeerAccess peers_of(const NodeDescription& node);
/// Number of GPUs that share a root port if the wires of a node are not stated. If this is not
/// stated either, up to four GPUs have a port each; more GPUs share one in pairs, because
/// processors have a limited number of lanes.
int gpus_per_root(const NodeDescription& node);

/// Channels from a log of this machine, stated by hand, before NCCL doubles them.
struct StatedChannels {
  int channels = 1;
  Bandwidth per_channel;
};

struct NodeDescription {
  std::string name = "node";
  int count = 1;
  int gpus_per_node = 1;  ///< GPUs 0..G-1 of each node take part
  /// GPUs in the node. Link patterns cover all of them.
  int gpus_in_layout = 1;
  GpuModel gpu;
  CpuVendor cpu = CpuVendor::unknown;
  InterconnectDescription interconnect;
  int nics = 0;
  Bandwidth per_nic;  ///< nominal, one direction
  /// Machines that GPUs and NICs are divided among: nodes_per_domain, once resolved.
  int hosts = 1;
  /// Stated link by link; then `interconnect` and NICs are not used.
  std::optional<NodeGraph> wiring;
};

struct ClusterDescription {
  std::string file;  ///< for messages
  /// Whether messages suggest words of a line or fields of a file.
  bool from_line = false;
  std::string name;
  std::string summary;
  std::vector<NodeDescription> types = std::vector<NodeDescription>(1);
  bool gpudirect_stated = false;
  int nodes_per_domain = 1;  ///< nodes whose GPUs one NVLink domain joins
  Network network;           ///< the NICs are in the node descriptions
  std::optional<SwitchPlan> switches;
  std::vector<DegradedLink> degraded;
  std::optional<StatedChannels> stated;
  std::vector<std::string> sources;
  /// What the files leave open: Cluster::doubts.
  std::vector<std::string> doubts;
  std::vector<Price> prices;
  StatedCosts gpu_costs;
  std::optional<Calibration> calibration;
  std::optional<GlooCalibration> gloo;
  std::vector<int> verified_nodes;  ///< numbers of nodes that a log confirms

  int nodes() const;
};

/// Why `gpus` GPUs cannot be wired like this; empty if they can.
std::string layout_problem(const InterconnectDescription& interconnect, int gpus);

/// The default layout: two GPUs are a pair, eight are a cube (a mesh with xGMI), and other numbers
/// are a mesh.
NvlinkLayout default_layout(int gpus, GpuVendor vendor);
const char* word_for(NvlinkLayout layout);  ///< "pair", "mesh", "cube"

/// Why a GPU has no links with this name ("nvlink", "nvswitch", "xgmi"), and what it has instead.
struct ForeignLink {
  std::string message;
  std::string hint;
};
std::optional<ForeignLink> foreign_link(std::string_view word, const GpuModel& gpu);

/// Why pods cannot be this large; empty if they can.
std::string pod_problem(const SwitchPlan& plan);

/// "ordered" or "scattered"; absent for other words.
std::optional<SwitchPlan::Placement> placement_of(std::string_view word);

inline constexpr const char* kNoConnections =
    "sets the rate of one TCP connection, which only tcp and tcp-vm have";

/// Reads a ddpsim.cluster/1 file.
ClusterDescription describe_file(std::string_view text, const std::string& file);
/// Reads a file of any supported kind, recognised by its content. These words complete it:
/// node:COUNT domain:NODES gpu:MODEL nic:[COUNTx]BW[:KIND] oversubscription:R[,R] leaf:NODES
/// pod:NODES rail:NODES placement:ORDER latency:T connection:BW switches:FILE. If the file does not
/// say how GPUs are joined: also nvswitch, nvlink, xgmi or pcie.
ClusterDescription describe_source(std::string_view text, const std::string& file,
                                   std::string_view words);
ClusterDescription describe_line(std::string_view line);
/// Whether `describe_source` probably reads this text, judged without reading all of it.
bool looks_like_cluster(std::string_view text);

/// Applies --nodes and --gpus-per-node. Throws InputError.
void resize(ClusterDescription& description, std::optional<int> nodes,
            std::optional<int> gpus_per_node);
/// Applies a number of nodes as NCCL counts them: nodes that share an NVLink domain are one. Throws
/// InputError.
void resize_as_nccl_counts(ClusterDescription& description, int nodes,
                           std::optional<int> gpus_per_node);

/// Makes one node of the nodes that share an NVLink domain, as NCCL does (mnnvl.cc). Throws
/// InputError.
void join_domains(ClusterDescription& description);

/// What the CLUSTER argument of the command line describes, at the requested size. `json` receives
/// the text if the argument is a cluster file without further words, bundled or not. Throws
/// InputError.
ClusterDescription describe_request(const ClusterRequest& request, std::string* json = nullptr);

/// A line that describes a similar cluster, with all nodes assumed identical: "node:2
/// gpu:8xV100-32GB nvlink:6x25GBps nic:4x100Gbps:ib". It leaves out how wires and switches are
/// arranged. Absent if no line describes such nodes, for example if only some of their GPUs take
/// part. `resolved` is the same cluster.
std::optional<std::string> line_of(const ClusterDescription& description, const Cluster& resolved);

/// Checks everything that depends on the final size, wires the nodes and searches channels. Throws
/// InputError.
Topology resolve(ClusterDescription description);

}  // namespace ddpsim
