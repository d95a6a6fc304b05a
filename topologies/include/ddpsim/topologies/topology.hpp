// A cluster as a graph: the devices in a node, their wires, the channels that NCCL finds, and the
// switches between nodes. `load_topology` returns plain values. `build_fabric` creates every link
// of every node for the flow network.
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

/// A cable between two vertices of a node, with the same rate in both directions.
struct Wire {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  LinkKind kind = LinkKind::nvlink;
  int lanes = 0;        ///< NVLinks or xGMI links; 0 for other kinds
  Bandwidth nominal{};  ///< one direction, as the vendor states it
  Bandwidth nccl{};     ///< rate that NCCL assumes in its channel search
};

/// One node. GPUs and NICs are numbered in the order of `vertices`.
struct NodeGraph {
  std::vector<Vertex> vertices;
  std::vector<Wire> wires;

  std::vector<std::uint32_t> all(VertexKind kind) const;
};

/// NCCL's path types inside a node (graph/topo.h), from near to far.
enum class PathClass : std::uint8_t {
  nvl,  ///< NVLink, directly or through an NVSwitch
  nvb,  ///< NVLink through another GPU
  pix,  ///< one PCIe switch
  pxb,  ///< several PCIe switches
  phb,  ///< through the CPU
  sys,  ///< across CPUs
};
std::string_view name_of(PathClass path);  ///< as NCCL prints it: "NVL"

/// One channel inside a node: its GPUs in order, and the NICs where it enters and leaves. A job on
/// a single node has no NICs.
struct ChannelOrder {
  std::vector<std::uint32_t> gpus;
  std::optional<std::uint32_t> nic_in;
  std::optional<std::uint32_t> nic_out;
};

/// A group of identical nodes.
struct NodeType {
  std::string name;
  int count = 1;
  GpuModel gpu;
  CpuVendor cpu = CpuVendor::unknown;
  NodeGraph graph;
  /// The PCIe layout was not stated; the layout of most servers is assumed.
  bool pcie_assumed = false;
  PeerAccess peers = PeerAccess::sockets;  ///< over PCIe
  /// `peers` was not stated; it follows from the GPU model.
  bool peers_assumed = false;
  /// Rate from one GPU to host memory while all GPUs use theirs; 0: no such path is modelled.
  Bandwidth to_host;
  /// How many GPUs share a root port was not stated.
  bool roots_assumed = false;
  std::vector<ChannelOrder> channels;  ///< NCCL's search channels, before doubling
  /// The farthest hop that a channel takes inside the node.
  PathClass path = PathClass::nvl;
  /// Machines in the node. GPUs and NICs are divided evenly among them, in order.
  int hosts = 1;
};

/// How nodes reach each other.
struct SwitchPlan {
  enum class Kind {
    one_switch,  ///< all NICs on one non-blocking switch
    leaf_spine,  ///< nodes on leaves, every leaf on every spine
    /// NIC i of every node of a pod is on leaf i of the pod, and leaves are on spines.
    rail,
    stated,  ///< a list of nodes and their switches
  };
  Kind kind = Kind::one_switch;
  /// With leaf_spine, nodes per leaf; with rail, nodes per pod. The uplinks of a leaf are as wide
  /// as if it were full.
  int nodes_per_leaf = 1;
  /// For leaf_spine and rail: spines, or spines per pod if there are pods.
  int spines = 1;
  /// Bandwidth into a switch from below, divided by its bandwidth upwards.
  double oversubscription = 1;
  /// With leaf_spine: nodes whose leaves share spines, which connect to a core; 0: all nodes.
  int nodes_per_pod = 0;
  double pod_oversubscription = 1;  ///< the same between spines and core
  enum class Placement {
    ordered,  ///< consecutive ranks share a leaf
    /// The neighbours of a node in rank order are under other leaves.
    scattered,
  };
  /// Absent: ordered is assumed, and intervals cover both.
  std::optional<Placement> placement;
  /// Nodes that stay together in both placements: the nodes of an NVLink domain.
  int nodes_together = 1;

  struct Switch {
    std::string name;
    std::optional<std::uint32_t> above;  ///< the switch it is connected to
  };
  std::vector<Switch> switches;             ///< for `stated`
  std::vector<std::string> hosts;           ///< for `stated`: one name per node
  std::vector<std::uint32_t> leaf_of_host;  ///< for `stated`
};

struct DegradedLink {
  /// "node3/gpu0 > nvswitch", or with " - " for both directions.
  std::string link;
  Bandwidth bandwidth;
};

struct Topology {
  Cluster cluster;
  std::string summary;               ///< one line about it
  std::vector<NodeType> node_types;  ///< nodes are numbered type after type
  SwitchPlan switches;
  std::vector<DegradedLink> degraded;
  /// A similar cluster as words of a CLUSTER argument; absent if no words describe it.
  std::optional<std::string> line = {};
};

/// How near each device is to each other one, in nvidia-smi's words (between AMD GPUs "XGMI", as
/// rocm-smi prints it). GPUs come first, then NICs. "-" means that nothing connects the two.
struct ConnectionMatrix {
  std::vector<std::string> devices;
  std::vector<std::vector<std::string>> cells;
};
ConnectionMatrix connection_matrix(const NodeGraph& graph, GpuVendor vendor = GpuVendor::nvidia);

/// One of NCCL's two trees over the nodes: the parent of each node, absent for the root.
using NodeTree = std::vector<std::optional<int>>;
NodeTree node_tree(int tree, int nodes);

/// Throws InputError.
Topology load_topology(const ClusterRequest& request);

/// Rings and trees of each channel with their routes. Like NCCL, this connects twice the search
/// channels. The second half of the rings repeats the first; the second half of the trees uses the
/// other of the two double binary trees. A communicator with more channels starts again at the
/// first. Throws InputError beyond kMostFabricRanks ranks and for degraded links that do not exist.
Fabric build_fabric(const Topology& topology);
Fabric build_fabric(const ClusterRequest& request);
/// Every link of the topology, with the channels of a job on some of its nodes, in rank order. All
/// jobs get the same links.
Fabric build_fabric(const Topology& topology, std::span<const std::uint32_t> nodes);

inline constexpr int kMostFabricRanks = 65'536;

/// The link that limits a large ring all-reduce.
struct Bottleneck {
  LinkKind kind = LinkKind::nvlink;
  std::string link;
  Bandwidth bandwidth;   ///< nominal, one direction
  double crossings = 1;  ///< channels that use it
  /// Upper limit for the bus bandwidth of an all-reduce, as nccl-tests defines it.
  Bandwidth bus_bandwidth;
  /// The first link of another kind, which would be the limit if `link` were faster. Absent if no
  /// link of another kind is used.
  std::optional<LinkKind> next_kind;
  Bandwidth next_bus_bandwidth;
};
/// Absent if nothing is sent, which is the case for one rank.
std::optional<Bottleneck> find_bottleneck(const Fabric& fabric);

}  // namespace ddpsim
