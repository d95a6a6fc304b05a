// What a cluster file or a one-line cluster says, before it is resized and resolved. Both readers
// write this; everything derived (rings, channels) comes after.
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
inline constexpr std::int64_t kMostGpusPerNode = 576;  // the largest NVLink domain announced
inline constexpr std::int64_t kMostRanks = 10'000'000;
inline constexpr std::int64_t kMostLinksPerGpu = 64;
inline constexpr std::int64_t kMostNicsPerNode = kMostGpusPerNode;  // a NIC for every GPU
inline constexpr double kMostOversubscription = 1'000;
inline constexpr std::int64_t kMostNodesPerLeaf = 65'536;

/// Which GPUs direct NVLinks join.
enum class NvlinkLayout {
  pair,  ///< two GPUs, all links between them
  mesh,  ///< every pair of GPUs, the same number of links each
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

/// GeForce cards and TITAN: their driver keeps both peers and NICs from GPU memory.
bool is_geforce(const GpuModel& gpu);

/// What is said, otherwise what the driver of such a GPU allows.
PeerAccess peers_of(const NodeDescription& node);
/// How many GPUs are taken to share a root port of a node whose wires nobody states: what is said, otherwise each has
/// its own up to four GPUs, and two share one beyond, as processors have lanes.
int gpus_per_root(const NodeDescription& node);

/// Channels stated by hand, from a log of this very machine; before NCCL's doubling.
struct StatedChannels {
  int channels = 1;
  Bandwidth per_channel;
};

struct NodeDescription {
  std::string name = "node";
  int count = 1;
  int gpus_per_node = 1;   ///< GPUs 0..G-1 of each node take part
  int gpus_in_layout = 1;  ///< GPUs the node has: link patterns are drawn over all of them
  GpuModel gpu;
  CpuVendor cpu = CpuVendor::unknown;
  InterconnectDescription interconnect;
  int nics = 0;
  Bandwidth per_nic;  ///< nominal, one direction
  int hosts =
      1;  ///< machines among which its GPUs and NICs are divided: nodes_per_domain, once resolved
  std::optional<NodeGraph> wiring;  ///< stated link by link; `interconnect` and NICs unused then
};

struct ClusterDescription {
  std::string file;        ///< for messages
  bool from_line = false;  ///< which remedy a message proposes
  std::string name;
  std::string summary;
  std::vector<NodeDescription> types = std::vector<NodeDescription>(1);
  bool gpudirect_stated = false;
  int nodes_per_domain = 1;  ///< nodes whose GPUs one NVLink domain joins
  Network network;           ///< NICs stand in the node descriptions
  std::optional<SwitchPlan> switches;
  std::vector<DegradedLink> degraded;
  std::optional<StatedChannels> stated;
  std::vector<std::string> sources;
  std::vector<std::string> doubts;  ///< what the files read leave open: Cluster::doubts
  std::vector<Price> prices;
  StatedCosts gpu_costs;
  std::optional<Calibration> calibration;
  std::optional<GlooCalibration> gloo;
  std::vector<int> verified_nodes;  ///< numbers of such nodes at which a log was taken

  int nodes() const;
};

/// Why `gpus` GPUs cannot be wired so; empty when they can.
std::string layout_problem(const InterconnectDescription& interconnect, int gpus);

/// The layout meant where none is written: two GPUs are a pair, eight a cube (of xGMI a mesh), others a
/// mesh.
NvlinkLayout default_layout(int gpus, GpuVendor vendor);
const char* word_for(NvlinkLayout layout);  ///< "pair", "mesh", "cube"

/// Why a GPU has no links that are called so ("nvlink", "nvswitch", "xgmi"), and what it has.
struct ForeignLink {
  std::string message;
  std::string hint;
};
std::optional<ForeignLink> foreign_link(std::string_view word, const GpuModel& gpu);

/// Why pods cannot be so large; empty when they can.
std::string pod_problem(const SwitchPlan& plan);

/// "ordered" or "scattered"; absent for other words.
std::optional<SwitchPlan::Placement> placement_of(std::string_view word);

inline constexpr const char* kNoConnections =
    "is of one TCP connection; only tcp and tcp-vm have them";

/// ddpsim.cluster/1.
ClusterDescription describe_file(std::string_view text, const std::string& file);
/// A file of any kind read here, recognised by its content and completed by the words beside it:
/// node:COUNT domain:NODES gpu:MODEL nic:[COUNTx]BW[:KIND] oversubscription:R[,R] leaf:NODES pod:NODES
/// rail:NODES placement:ORDER latency:T connection:BW switches:FILE, and nvswitch, nvlink, xgmi or pcie where a file does not say how GPUs are joined.
ClusterDescription describe_source(std::string_view text, const std::string& file,
                                   std::string_view words);
ClusterDescription describe_line(std::string_view line);
/// Whether a file's text is of a kind that describe_source reads, as far as can be told without.
bool looks_like_cluster(std::string_view text);

/// Applies --nodes and --gpus-per-node. Throws InputError.
void resize(ClusterDescription& description, std::optional<int> nodes,
            std::optional<int> gpus_per_node);
/// The same by NCCL's count, whose nodes are NVLink domains where nodes share one. Throws InputError.
void resize_as_nccl_counts(ClusterDescription& description, int nodes,
                           std::optional<int> gpus_per_node);

/// Nodes that share an NVLink domain become one, as NCCL sees them (mnnvl.cc). Throws InputError.
void join_domains(ClusterDescription& description);

/// What the CLUSTER argument of the command line describes, at the size it asks for. `json` receives
/// the text where that is a cluster file, bundled or not, without words beside it. Throws InputError.
ClusterDescription describe_request(const ClusterRequest& request, std::string* json = nullptr);

/// A line that describes a cluster like this one, all of whose nodes are taken to be alike: "node:2 gpu:8xV100-32GB
/// nvlink:6x25GBps nic:4x100Gbps:ib". How wires and switches lie is left out. Absent where no line describes such nodes, as
/// those of which some GPUs alone take part. `resolved`: the same cluster.
std::optional<std::string> line_of(const ClusterDescription& description, const Cluster& resolved);

/// Checks what depends on the final size, wires nodes, searches channels. Throws InputError.
Topology resolve(ClusterDescription description);

}  // namespace ddpsim
