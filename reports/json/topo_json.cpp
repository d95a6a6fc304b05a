#include "ddpsim/reports/topo_report.hpp"
#include "ddpsim/topologies/plausible.hpp"
#include "described_documents.hpp"
#include "described_price.hpp"
#include "topo_words.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

template <typename T>
auto rate(Bandwidth T::*which) {
  return [which](const T& of) { return (of.*which).gigabytes_per_second(); };
}

std::vector<std::string> link_words() {
  return {"nvlink", "xgmi", "pcie", "socket", "nic", "network"};
}

std::vector<std::string> network_kinds() {
  std::vector<std::string> words = network_kind_words();
  words.emplace_back("none");
  return words;
}

const Described<Cluster>& described_intra() {
  static const auto described =
      Described<Cluster>("Intra", "how GPUs of a node are connected", Layout::line)
          .one_of(
              "kind", [](const Cluster& of) { return kind_word(of.intra.kind, of.gpu.vendor); },
              {"none", "nvswitch", "nvlink", "xgmi", "pcie"},
              "what connects the GPUs of a node; none with one GPU per node")
          .ratio(
              "per_gpu_gbps",
              [](const Cluster& of) { return of.intra.per_gpu.gigabytes_per_second(); },
              "nominal rate of a GPU in one direction, over all its links that a ring can use, in "
              "GB/s")
          .integer(
              "links_per_gpu", [](const Cluster& of) { return of.intra.links_per_gpu; },
              "number of links that per_gpu_gbps adds up")
          .one_of(
              "peers",
              [](const Cluster& of) {
                return of.intra.kind == IntraKind::pcie ? std::optional(kind_word(of.intra.peers))
                                                        : std::nullopt;
              },
              {"p2p", "p2p-sockets", "no-p2p"},
              "how GPUs reach each other over PCIe: directly (p2p), directly under each root port "
              "alone (p2p-sockets), or through host memory (no-p2p). Only with PCIe",
              Absent::left_out);
  return described;
}

const Described<Topology>& described_network() {
  static const auto network = [](const Topology& of) -> const Network& {
    return of.cluster.network;
  };
  static const auto described =
      Described<Topology>("Network", "how nodes are connected", Layout::line)
          .one_of(
              "kind", [](const Topology& of) { return kind_word(network(of)); }, network_kinds(),
              "the kind of network between nodes")
          .integer(
              "nics_per_node",
              [](const Topology& of) {
                return network(of).nics_per_node / of.cluster.hosts_per_node;
              },
              "NICs of each node")
          .ratio(
              "per_nic_gbps",
              [](const Topology& of) { return network(of).per_nic.gigabytes_per_second(); },
              "nominal rate of a NIC in one direction, in GB/s")
          .one_of(
              "switches", [](const Topology& of) { return kind_word(of.switches.kind); },
              {"one-switch", "leaf-spine", "rail", "list"},
              "how switches connect the nodes; \"list\" means that the cluster's file lists each "
              "switch")
          .number(
              "oversubscription", [](const Topology& of) { return network(of).oversubscription; },
              "bandwidth into a switch from below, divided by its bandwidth upwards")
          .boolean(
              "gpudirect", [](const Topology& of) { return network(of).gpudirect; },
              "whether NICs reach GPU memory directly")
          .boolean(
              "collnet", [](const Topology& of) { return network(of).collnet; },
              "whether the network's switches reduce (SHARP)");
  return described;
}

const Described<Topology>& described_cluster() {
  static const auto cluster = [](const Topology& of) -> const Cluster& { return of.cluster; };
  static const auto described =
      Described<Topology>("TopoCluster", "a cluster in numbers")
          .text(
              "name", [](const Topology& of) -> const auto& { return cluster(of).name; },
              "the cluster's name")
          .text("summary", &Topology::summary, "one line about the cluster; may be empty")
          .text("line", unless_empty([](const Topology& of) { return of.line.value_or(""); }),
                "a CLUSTER argument that describes a cluster like this one; null if there is none")
          .integer(
              "nodes", [](const Topology& of) { return cluster(of).hosts(); },
              "nodes of the cluster")
          .integer(
              "nodes_per_domain",
              [](const Topology& of) {
                const int nodes = cluster(of).hosts_per_node;
                return nodes > 1 ? std::optional(nodes) : std::nullopt;
              },
              "how many nodes share an NVLink domain. Only if nodes share one", Absent::left_out)
          .integer(
              "gpus_per_node", [](const Topology& of) { return cluster(of).gpus_per_host(); },
              "GPUs of each node")
          .integer(
              "ranks", [](const Topology& of) { return cluster(of).ranks(); },
              "GPUs of the cluster, each with one rank")
          .text(
              "gpu", [](const Topology& of) -> const auto& { return cluster(of).gpu.name; },
              "the GPU's model; the slowest if nodes differ")
          .text(
              "gpu_variant",
              [](const Topology& of) -> const auto& { return cluster(of).gpu.product(); },
              "the product whose data sheet is used, such as V100-16GB; the model if the variant "
              "is not known")
          .integer(
              "gpu_memory_bytes", [](const Topology& of) { return cluster(of).gpu.memory; },
              "memory of each GPU, in bytes")
          .object("intra", cluster, described_intra(), "how GPUs of a node are connected")
          .object(
              "network", [](const Topology& of) -> const auto& { return of; }, described_network(),
              "how nodes are connected")
          .integer(
              "degraded_links", [](const Topology& of) { return cluster(of).degraded_links; },
              "number of links that run below their rate")
          .boolean(
              "verified", [](const Topology& of) { return cluster(of).verified; },
              "whether a log of this cluster confirms its numbers")
          .texts(
              "sources", [](const Topology& of) -> const auto& { return cluster(of).sources; },
              "where the cluster's numbers are from")
          .list(
              "prices", [](const Topology& of) -> const auto& { return cluster(of).prices; },
              described_price(Layout::line), "known prices of the cluster, latest first");
  return described;
}

const Described<SearchGraph>& described_search() {
  static const auto described =
      Described<SearchGraph>("Channels", "channels that NCCL finds for an algorithm", Layout::line)
          .integer("channels", &SearchGraph::channels,
                   "channels that NCCL finds, before it connects each twice")
          .ratio("intra_gbps", rate(&SearchGraph::intra),
                 "bandwidth that NCCL assumes for each channel inside a node, in GB/s")
          .ratio("inter_gbps", rate(&SearchGraph::inter),
                 "bandwidth that NCCL assumes for each channel between nodes, in GB/s");
  return described;
}

const Described<Vertex>& described_vertex() {
  static const auto described =
      Described<Vertex>("Vertex", "a device of a node", Layout::line)
          .text("name", &Vertex::name, "the device's name, unique in its node")
          .one_of(
              "kind", [](const Vertex& of) { return kind_word(of.kind); },
              {"gpu", "nvswitch", "pcie-switch", "cpu", "nic"}, "the kind of device")
          .ratio(
              "rate_gbps",
              [](const Vertex& of) {
                return of.kind == VertexKind::nic ? std::optional(of.port.gigabytes_per_second())
                                                  : std::nullopt;
              },
              "the NIC's rate towards the network in one direction, in GB/s. Only for NICs",
              Absent::left_out);
  return described;
}

/// A cable and its type of node.
struct ShownWire {
  const Wire& wire;
  const NodeType& type;
};

std::vector<ShownWire> shown_wires(const NodeType& type) {
  std::vector<ShownWire> shown;
  for (const Wire& wire : type.graph.wires) shown.push_back({wire, type});
  return shown;
}

const Described<ShownWire>& described_wire() {
  using Shown = ShownWire;
  static const auto described =
      Described<Shown>("Link", "a cable between two devices of a node", Layout::line)
          .texts(
              "between",
              [](const Shown& of) {
                const std::vector<Vertex>& vertices = of.type.graph.vertices;
                return std::vector<std::string>{vertices[of.wire.a].name, vertices[of.wire.b].name};
              },
              "names of the two devices that the cable connects")
          .one_of(
              "kind", [](const Shown& of) { return kind_word(of.wire.kind, of.type.gpu.vendor); },
              link_words(), "the kind of cable")
          .integer(
              "links",
              [](const Shown& of) {
                return of.wire.lanes > 0 ? std::optional(of.wire.lanes) : std::nullopt;
              },
              "number of NVLinks or xGMI links in the bundle. Only for NVLink and xGMI",
              Absent::left_out)
          .ratio(
              "rate_gbps", [](const Shown& of) { return of.wire.nominal.gigabytes_per_second(); },
              "rate in one direction as the vendor states it, in GB/s")
          .ratio(
              "nccl_gbps", [](const Shown& of) { return of.wire.nccl.gigabytes_per_second(); },
              "bandwidth that NCCL assumes when it searches channels, in GB/s");
  return described;
}

const Described<ConnectionMatrix>& described_matrix() {
  static const auto described =
      Described<ConnectionMatrix>("Matrix", "the distances between the GPUs and NICs of a node")
          .texts("devices", &ConnectionMatrix::devices, "names of the GPUs, then of the NICs")
          .text_rows("cells", &ConnectionMatrix::cells,
                     "a row for each device: its distance to each device in nvidia-smi's words, "
                     "\"-\" if nothing connects the two");
  return described;
}

const Described<ChannelOrder>& described_order() {
  static const auto described =
      Described<ChannelOrder>("Channel", "a channel inside a node", Layout::line)
          .integers("gpus", &ChannelOrder::gpus,
                    "GPUs in the order in which the channel passes them")
          .integer("nic_in", &ChannelOrder::nic_in,
                   "index of the NIC through which the channel enters the node. Only if it does",
                   Absent::left_out)
          .integer("nic_out", &ChannelOrder::nic_out,
                   "index of the NIC through which the channel leaves the node. Only if it does",
                   Absent::left_out);
  return described;
}

const Described<NodeType>& described_node_type() {
  static const auto described =
      Described<NodeType>("NodeType", "a type of node")
          .text("name", &NodeType::name, "the name of this type of node")
          .integer("count", &NodeType::count,
                   "nodes of this type; an NVLink domain of several nodes counts as one")
          .text(
              "gpu", [](const NodeType& of) -> const auto& { return of.gpu.name; },
              "the GPU's model")
          .text(
              "gpu_variant", [](const NodeType& of) -> const auto& { return of.gpu.product(); },
              "the product whose data sheet is used, such as V100-16GB; the model if the variant "
              "is not known")
          .boolean("pcie_assumed", &NodeType::pcie_assumed,
                   "whether the PCIe layout is assumed to be that of most servers")
          .list(
              "vertices", [](const NodeType& of) -> const auto& { return of.graph.vertices; },
              described_vertex(), "devices of the node")
          .list("links", &shown_wires, described_wire(), "cables between devices of the node")
          .object(
              "matrix",
              [](const NodeType& of) { return connection_matrix(of.graph, of.gpu.vendor); },
              described_matrix(), "the distances between the GPUs and NICs of the node")
          .word("path", &NodeType::path, all_up_to(PathClass::sys),
                "the longest hop inside the node that a channel uses, in NCCL's words")
          .list("channels", &NodeType::channels, described_order(),
                "channels that NCCL finds in the node, before it connects each twice");
  return described;
}

/// NCCL's two trees; empty for one node, and if they would be too long to print.
std::vector<NodeTree> shown_trees(const TopoReport& report) {
  constexpr int kMostNodes = 4096;
  const int nodes = report.topology.cluster.nodes;
  if (nodes <= 1 || nodes > kMostNodes) return {};
  return {node_tree(0, nodes), node_tree(1, nodes)};
}

struct ShownBottleneck {
  const Bottleneck& found;
  GpuVendor vendor;
};

std::optional<ShownBottleneck> shown_bottleneck(const TopoReport& report) {
  if (!report.bottleneck) return std::nullopt;
  return ShownBottleneck{*report.bottleneck, report.topology.cluster.gpu.vendor};
}

const Described<ShownBottleneck>& described_bottleneck() {
  using Shown = ShownBottleneck;
  static const auto described =
      Described<Shown>("Bottleneck", "the link that a large ring all-reduce fills first")
          .one_of(
              "kind", [](const Shown& of) { return kind_word(of.found.kind, of.vendor); },
              link_words(), "the kind of link")
          .text(
              "link", [](const Shown& of) -> const auto& { return of.found.link; },
              "the link's name, from one end to the other")
          .ratio(
              "rate_gbps",
              [](const Shown& of) { return of.found.bandwidth.gigabytes_per_second(); },
              "the link's nominal rate in one direction, in GB/s")
          .ratio(
              "traffic_share", [](const Shown& of) { return of.found.crossings; },
              "the link's traffic as a share of what all channels together send per hop; above 1 "
              "if channels use it several times")
          .ratio(
              "busbw_gbps",
              [](const Shown& of) { return of.found.bus_bandwidth.gigabytes_per_second(); },
              "highest bus bandwidth that the link allows, in GB/s as nccl-tests counts it")
          .one_of(
              "next_kind",
              [](const Shown& of) {
                return of.found.next_kind ? std::optional(kind_word(*of.found.next_kind, of.vendor))
                                          : std::nullopt;
              },
              link_words(),
              "the kind of link that is the limit once this one is faster. Only if channels use "
              "another kind",
              Absent::left_out)
          .ratio(
              "next_busbw_gbps",
              [](const Shown& of) {
                return of.found.next_kind
                           ? std::optional(of.found.next_bus_bandwidth.gigabytes_per_second())
                           : std::nullopt;
              },
              "highest bus bandwidth that links of next_kind allow, in GB/s. Only if channels use "
              "another kind",
              Absent::left_out);
  return described;
}

const Described<Cluster>& described_bounds() {
  const auto most = [](ChannelShape shape) {
    return [shape](const Cluster& of) { return most_busbw(shape, of).gigabytes_per_second(); };
  };
  static const auto described =
      Described<Cluster>("Bounds", "the highest bus bandwidth that links allow", Layout::line)
          .ratio("ring_busbw_gbps", most(ChannelShape::ring),
                 "highest bus bandwidth that links allow NCCL's rings, in GB/s")
          .ratio("tree_busbw_gbps", most(ChannelShape::tree),
                 "highest bus bandwidth that links allow NCCL's trees, in GB/s");
  return described;
}

/// Everything that the text marks as assumed or doubtful.
std::vector<std::string> warnings_of(const Cluster& cluster) {
  std::vector<std::string> warnings = implausible_figures(cluster);
  for (const std::string& assumed :
       {assumed_of_variant(cluster.gpu), assumed_of_amd(cluster),
        std::string(assumed_of_connections(cluster)), std::string(assumed_of_leaves(cluster)),
        assumed_of_peers(cluster), assumed_of_roots(cluster), assumed_of_gpudirect(cluster)})
    if (!assumed.empty()) warnings.push_back(assumed);
  return warnings;
}

const Described<TopoReport>& described_topo() {
  using Report = TopoReport;
  static const auto cluster = [](const Report& of) -> const Cluster& {
    return of.topology.cluster;
  };
  static const auto described =
      Described<Report>("TopoResult", "a cluster: its links, NCCL's channels and its bottleneck")
          .constant("schema", "ddpsim.topo/1", "which document this is")
          .object("cluster", &Report::topology, described_cluster(), "the cluster in numbers")
          .object(
              "ring", [](const Report& of) -> const auto& { return cluster(of).ring; },
              described_search(), "NCCL's rings")
          .object(
              "tree", [](const Report& of) -> const auto& { return cluster(of).tree; },
              described_search(), "NCCL's trees")
          .integer(
              "nvls_channels", [](const Report& of) { return cluster(of).nvls_channels; },
              "number of channels that reduce in the NVSwitches (NVLS)")
          .list(
              "node_types", [](const Report& of) -> const auto& { return of.topology.node_types; },
              described_node_type(), "the types of nodes; all nodes of a type are the same")
          .integer_or_null_rows(
              "node_trees", &shown_trees,
              "NCCL's two trees: the parent of each node, null for the root. An NVLink domain "
              "counts as one node. Empty with one node or more than 4096")
          .object("bottleneck", &shown_bottleneck, described_bottleneck(),
                  "the link that a large ring all-reduce fills first; null for one rank, and if "
                  "there are too many ranks to lay out")
          .object(
              "bounds",
              [](const Report& of) {
                return cluster(of).loads == nullptr ? nullptr : &cluster(of);
              },
              described_bounds(),
              "the highest bus bandwidth that links allow; null if channels are not laid out")
          .texts(
              "warnings", [](const Report& of) { return warnings_of(cluster(of)); },
              "what is assumed or doubtful, one sentence each");
  return described;
}

}  // namespace

const ObjectType& topo_document() {
  return described_topo().type();
}

std::string topo_json(const TopoReport& report) {
  return described_topo().text_of(report);
}

}  // namespace ddpsim
