// A cluster as a graph: what stands in a node, how it is wired, which channels NCCL finds there, and
// the switches between nodes. `load_topology` answers with plain values; `build_fabric` lays every
// link of every node out for the flow network.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/fabric.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {

enum class VertexKind : std::uint8_t { gpu, nvswitch, pcie_switch, cpu, nic };

struct Vertex {
  VertexKind kind = VertexKind::gpu;
  std::string name;  ///< unique in its node: "gpu0"
  Bandwidth port{};  ///< NICs: rate towards the network, one direction
};

/// A cable between two vertices of a node, alike in both directions.
struct Wire {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  LinkKind kind = LinkKind::nvlink;
  int lanes = 0;        ///< NVLinks, or xGMI, bundled; 0 elsewhere
  Bandwidth nominal{};  ///< one direction, as the vendor states it
  Bandwidth nccl{};     ///< what NCCL counts on when it searches channels
};

/// One node. GPUs and NICs are numbered in the order in which they stand among the vertices.
struct NodeGraph {
  std::vector<Vertex> vertices;
  std::vector<Wire> wires;

  std::vector<std::uint32_t> all(VertexKind kind) const;
};

/// NCCL's path types inside a node (graph/topo.h), from near to far.
enum class PathClass : std::uint8_t {
  nvl,  ///< NVLink, directly or through an NVSwitch
  nvb,  ///< NVLink by way of another GPU
  pix,  ///< one PCIe switch
  pxb,  ///< several PCIe switches
  phb,  ///< through the CPU
  sys,  ///< from one CPU to another
};
std::string_view name_of(PathClass path);  ///< as NCCL prints it: "NVL"

/// One channel inside a node: GPUs in order, and the NICs by which it comes and goes (none within a
/// single node).
struct ChannelOrder {
  std::vector<std::uint32_t> gpus;
  std::optional<std::uint32_t> nic_in;
  std::optional<std::uint32_t> nic_out;
};

/// Nodes that are all alike.
struct NodeType {
  std::string name;
  int count = 1;
  GpuModel gpu;
  CpuVendor cpu = CpuVendor::unknown;
  NodeGraph graph;
  bool pcie_assumed = false;  ///< nobody said how PCIe is laid out: as most servers have it
  PeerAccess peers = PeerAccess::sockets;  ///< over PCIe
  bool peers_assumed = false;              ///< nobody said so: by the GPU
  Bandwidth to_host;  ///< of one GPU's way to host memory while all use theirs; 0: not drawn
  bool roots_assumed = false;          ///< nobody said how many GPUs share a root port
  std::vector<ChannelOrder> channels;  ///< NCCL's search channels, before doubling
  PathClass path = PathClass::nvl;     ///< the farthest hop inside the node that a channel takes
  int hosts = 1;  ///< machines among which GPUs and NICs are divided evenly, in order
};

/// How nodes reach each other.
struct SwitchPlan {
  enum class Kind {
    one_switch,  ///< every NIC on one switch that never blocks
    leaf_spine,  ///< nodes on leaves, every leaf on every spine
    rail,        ///< NIC i of every node of a pod on leaf i of the pod, leaves on spines
    stated,      ///< a list of nodes and their switches
  };
  Kind kind = Kind::one_switch;
  int nodes_per_leaf =
      1;  ///< leaf_spine; rail: nodes per pod; a leaf's trunks are as wide as if it were full
  int spines = 1;               ///< leaf_spine, rail; of a pod where there are pods
  double oversubscription = 1;  ///< what enters a switch from below over what may leave it upwards
  int nodes_per_pod =
      0;  ///< leaf_spine: nodes whose leaves share spines, which hang on a core; 0: all
  double pod_oversubscription = 1;  ///< the same of spines and the core
  enum class Placement {
    ordered,    ///< ranks follow the leaves: neighbours share one
    scattered,  ///< each node's neighbours in rank order are under other leaves
  };
  std::optional<Placement> placement;  ///< where nobody says: in order, and intervals hold both
  int nodes_together = 1;  ///< that stay side by side however ranks lie: those of an NVLink domain

  struct Switch {
    std::string name;
    std::optional<std::uint32_t> above;  ///< the switch it hangs on
  };
  std::vector<Switch> switches;             ///< stated
  std::vector<std::string> hosts;           ///< stated: a name per node
  std::vector<std::uint32_t> leaf_of_host;  ///< stated
};

struct DegradedLink {
  std::string link;  ///< "node3/gpu0 > nvswitch", or with " - " both directions
  Bandwidth bandwidth;
};

struct Topology {
  Cluster cluster;
  std::string summary;               ///< one line about it
  std::vector<NodeType> node_types;  ///< nodes are numbered type after type
  SwitchPlan switches;
  std::vector<DegradedLink> degraded;
  /// Words that describe a cluster like it, as a CLUSTER argument; absent where none do.
  std::optional<std::string> line = {};
};

/// Who is how near to whom in a node, in nvidia-smi's words ("XGMI", as rocm-smi has it, between AMD's):
/// GPUs, then NICs; "-" where nothing joins two.
struct ConnectionMatrix {
  std::vector<std::string> devices;
  std::vector<std::vector<std::string>> cells;
};
ConnectionMatrix connection_matrix(const NodeGraph& graph, GpuVendor vendor = GpuVendor::nvidia);

/// NCCL's two trees over the nodes: the parent of each, absent for the root.
using NodeTree = std::vector<std::optional<int>>;
NodeTree node_tree(int tree, int nodes);

/// Throws InputError.
Topology load_topology(const ClusterRequest& request);

/// Rings and trees channel by channel with their routes: twice the search channels, as NCCL
/// connects them; the second half of the rings repeats the first, the second half of the trees is
/// the other of the two double binary trees. A communicator with more channels starts again at the
/// first. Throws InputError beyond kMostFabricRanks ranks and for degraded links that do not exist.
Fabric build_fabric(const Topology& topology);
Fabric build_fabric(const ClusterRequest& request);
/// Every link of the topology, channels of a job on some of its nodes, in the order of its ranks:
/// the same links for every job.
Fabric build_fabric(const Topology& topology, std::span<const std::uint32_t> nodes);

inline constexpr int kMostFabricRanks = 65'536;

/// The link that a large ring all-reduce fills first.
struct Bottleneck {
  LinkKind kind = LinkKind::nvlink;
  std::string link;
  Bandwidth bandwidth;      ///< nominal, one direction
  double crossings = 1;     ///< channels that pass it
  Bandwidth bus_bandwidth;  ///< what an all-reduce could reach at most, as nccl-tests counts it
  /// The same for the first link of another kind, binding once this one is faster; absent where no
  /// other link is passed.
  std::optional<LinkKind> next_kind;
  Bandwidth next_bus_bandwidth;
};
/// Absent where nothing is sent: one rank.
std::optional<Bottleneck> find_bottleneck(const Fabric& fabric);

}  // namespace ddpsim
