// Resolves a description at its final size: checks it, wires the nodes and searches channels.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "channel_derivation.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/topologies/host_copy.hpp"
#include "description.hpp"
#include "fabric.hpp"
#include "node_graph.hpp"

namespace ddpsim {
namespace {

void check_size(const ClusterDescription& description) {
  const int nodes = description.nodes();
  const int gpus = description.types.front().gpus_per_node;
  for (const NodeDescription& type : description.types) {
    if (type.gpu.vendor != description.types.front().gpu.vendor)
      throw InputError({description.file, "",
                        fmt::format("nodes of {} and of {} in one cluster",
                                    description.types.front().gpu.name, type.gpu.name),
                        "NCCL and RCCL do not talk to each other: keep to one vendor"});
    if (type.gpus_per_node == gpus) continue;
    throw InputError(
        {description.file, "",
         fmt::format("nodes of {} and of {} GPUs in one cluster", gpus, type.gpus_per_node),
         "Ranks are counted node by node: give every type as many GPUs"});
  }
  if (description.switches && !description.switches->hosts.empty() &&
      static_cast<std::size_t>(nodes) > description.switches->hosts.size()) {
    throw InputError({description.file, "",
                      fmt::format("{} nodes, where the switch list names {}", nodes,
                                  description.switches->hosts.size()),
                      "Ask for fewer, or name them all"});
  }
  if (nodes > description.nodes_per_domain && description.network.kind == NetworkKind::none) {
    throw InputError(
        {description.file, "", fmt::format("{} nodes need a network and none is given", nodes),
         description.from_line
             ? "Add one, such as \"nic:1x100Gbps:ib\""
             : R"(Add "network": {"kind": "ib", "nics_per_node": 1, "per_nic": "100Gbps"})"});
  }
  const std::int64_t ranks = std::int64_t{nodes} * gpus;
  if (ranks > kMostRanks) {
    throw InputError({description.file, "",
                      fmt::format("{} nodes of {} GPUs are {} ranks", nodes, gpus, ranks),
                      fmt::format("At most {} can be simulated", kMostRanks)});
  }
}

/// Rate at which all NICs of this type of node send into the network.
Bandwidth network_rate(const NodeType& type) {
  Bandwidth sum;
  for (const Vertex& vertex : type.graph.vertices) sum = sum + vertex.port;
  return sum;
}

/// Takes the smallest value of each field. NCCL counts on what all ranks have, and a step waits for
/// the slowest.
void take_least(Cluster& cluster, const std::vector<NodeType>& types) {
  cluster.gpu = types.front().gpu;
  cluster.cpu = types.front().cpu;
  const NodeType* slowest = &types.front();
  for (const NodeType& type : types) {
    const auto speed = [](const GpuModel& gpu) {
      return std::tuple(gpu.compute_capability, gpu.fp32_tflops, gpu.memory_bandwidth, gpu.memory);
    };
    if (speed(type.gpu) < speed(cluster.gpu)) cluster.gpu = type.gpu;
    if (type.cpu == CpuVendor::amd) cluster.cpu = type.cpu;  // in NCCL, one AMD host decides
    if (network_rate(type) < network_rate(*slowest)) slowest = &type;
  }
  const auto nics = static_cast<int>(slowest->graph.all(VertexKind::nic).size());
  cluster.network.nics_per_node = nics;
  if (nics > 0) cluster.network.per_nic = network_rate(*slowest) / nics;
}

/// aws-ofi-nccl shows NCCL the EFA adapters next to a GPU as one device and stripes messages over
/// them. This holds for its rdma protocol, from p5's 32 adapters on.
NodeDescription with_joined_adapters(NodeDescription node, ClusterDescription& description) {
  const int each = node.nics / std::max(1, node.gpus_in_layout);
  if (description.network.kind != NetworkKind::efa || node.wiring || each < 2 ||
      node.nics % node.gpus_in_layout != 0)
    return node;
  std::string joined =
      fmt::format("aws-ofi-nccl presents the {} adapters next to each GPU as one device", each);
  if (std::ranges::find(description.sources, joined) == description.sources.end())
    description.sources.push_back(std::move(joined));
  node.nics = node.gpus_in_layout;
  node.per_nic = node.per_nic * each;
  return node;
}

NodeType node_type(const NodeDescription& node, const ClusterDescription& description) {
  NodeType type;
  type.name = node.name;
  type.count = node.count;
  type.gpu = node.gpu;
  type.cpu = node.cpu;
  type.pcie_assumed = !node.wiring;
  type.peers = peers_of(node);
  type.peers_assumed = !node.interconnect.peers;
  type.hosts = node.hosts;
  type.roots_assumed = !node.wiring && node.interconnect.gpus_per_root == 0;
  type.graph = keep_gpus(wire_node(node), node.gpus_per_node, node.hosts);
  type.to_host = way_to_host(type.graph).value_or(Bandwidth());
  // If nothing is stated, all GPUs are drawn on one switch.
  if (type.roots_assumed && type.peers != PeerAccess::host)
    type.to_host = node.interconnect.per_gpu / gpus_per_root(node);
  if (description.nodes() == 1) return type;
  if (type.graph.all(VertexKind::nic).empty())
    throw InputError(
        {description.file, "",
         type.name == "node" ? "a node has no NIC" : fmt::format("a {} node has no NIC", type.name),
         "Nodes reach each other through NICs"});
  for (const Vertex& vertex : type.graph.vertices)
    if (vertex.kind == VertexKind::nic && vertex.port <= Bandwidth())
      throw InputError(
          {description.file, "", fmt::format("the rate of {} is not stated", vertex.name),
           "Add it: \"nic:200Gbps:ib\" after the file name, or \"per_nic\" in the file"});
  return type;
}

/// Default for GPUDirect RDMA: NICs reach the memory of all GPUs except GeForce cards.
void assume_gpudirect(Cluster& cluster) {
  Network& network = cluster.network;
  if (network.kind != NetworkKind::infiniband && network.kind != NetworkKind::roce) return;
  network.gpudirect_assumed = true;
  if (is_geforce(cluster.gpu)) network.gpudirect = false;
}

/// Removes nodes that need not be simulated, of each type in proportion. On one non-blocking
/// switch, a few nodes load their links like all nodes: further nodes use no links in a new way. If
/// all are the same, four are enough: a tree's root, a fork with two branches, a fork's leaves.
void thin_out(Topology& topology) {
  Cluster& cluster = topology.cluster;
  const auto types = static_cast<std::int64_t>(topology.node_types.size());
  std::int64_t most = kMostFabricRanks / cluster.gpus_per_node - types;
  if (topology.switches.kind == SwitchPlan::Kind::one_switch && topology.degraded.empty()) {
    constexpr std::int64_t kOfOneType = 4;
    constexpr std::int64_t kOfEachType = 32;
    most = std::min(most, types == 1 ? kOfOneType : types * kOfEachType);
  }
  if (cluster.nodes <= most) return;
  if (!topology.degraded.empty())
    throw InputError(
        {cluster.name, "/degraded",
         fmt::format("{} ranks are too many to find a link among theirs", cluster.ranks()),
         fmt::format("At most {} where links are degraded", kMostFabricRanks)});
  const std::int64_t nodes = std::exchange(cluster.nodes, 0);
  for (NodeType& type : topology.node_types) {
    type.count = static_cast<int>(std::max<std::int64_t>(1, type.count * most / nodes));
    cluster.nodes += type.count;
  }
}

std::shared_ptr<const LinkLoads> loads_of(Topology topology, std::span<const NodePaths> paths) {
  if (topology.cluster.ranks() <= 1) return nullptr;
  thin_out(topology);
  return std::make_shared<const LinkLoads>(
      link_loads(build_fabric(topology, paths), topology.cluster.gpus_per_node));
}

/// Whether a switch has less bandwidth upwards than may enter it from below.
bool narrows(const SwitchPlan& plan) {
  return plan.oversubscription > 1 || (plan.nodes_per_pod > 0 && plan.pod_oversubscription > 1);
}

/// Whether the order of ranks on leaves matters, because some consecutive nodes are nearer to each
/// other than others. NVLink domains move as a whole from leaf to leaf.
bool order_matters(const SwitchPlan& plan, int hosts) {
  const int together = plan.nodes_together;
  if (plan.kind == SwitchPlan::Kind::stated) {
    const auto& leaves = plan.leaf_of_host;
    const auto end = leaves.begin() + hosts;
    return together == 1 && std::adjacent_find(leaves.begin(), end) != end &&
           std::any_of(leaves.begin(), end,
                       [&](std::uint32_t leaf) { return leaf != leaves.front(); });
  }
  return plan.nodes_per_leaf % together == 0 && hosts > plan.nodes_per_leaf &&
         std::max(plan.nodes_per_leaf, plan.nodes_per_pod) > together;
}

void require_domains_on_leaves(const ClusterDescription& description, const SwitchPlan& plan) {
  if (plan.placement != SwitchPlan::Placement::scattered || plan.nodes_together == 1) return;
  const bool whole =
      plan.kind != SwitchPlan::Kind::stated && plan.nodes_per_leaf % plan.nodes_together == 0;
  if (!whole)
    throw InputError({description.file, "placement",
                      fmt::format("scattered moves whole NVLink domains from leaf to leaf, and "
                                  "leaves do not hold whole ones of {} nodes",
                                  plan.nodes_together),
                      "Leave the word out, or give leaves a multiple of that"});
}

/// Published logs of several nodes say nothing about one node, and vice versa. Data sheet values
/// are then the better guess. Users who calibrate their own cluster get a message instead.
bool speaks_of(const Calibration& calibration, int nodes) {
  return !is_published(calibration) ||
         std::ranges::any_of(calibration.shapes, [&](const CalibratedShape& shape) {
           return (shape.nodes > 1) == (nodes > 1);
         });
}

}  // namespace

Topology resolve(ClusterDescription description) {
  check_size(description);
  for (NodeDescription& node : description.types)
    node = with_joined_adapters(std::move(node), description);
  const int hosts = description.nodes();
  join_domains(description);
  Topology topology;
  Cluster& cluster = topology.cluster;
  cluster.name = description.name;
  topology.summary = description.summary;
  cluster.nodes = description.nodes();
  cluster.gpus_per_node = description.types.front().gpus_per_node;
  cluster.hosts_per_node = description.types.front().hosts;
  cluster.network = description.network;
  cluster.verified =
      std::count(description.verified_nodes.begin(), description.verified_nodes.end(), hosts) > 0;
  if (description.calibration && speaks_of(*description.calibration, cluster.nodes)) {
    cluster.calibration = std::make_shared<const Calibration>(*description.calibration);
    cluster.verified = cluster.verified ||
                       is_calibrated_at(*cluster.calibration, cluster.nodes, cluster.gpus_per_node);
  }
  if (description.gloo) cluster.gloo = std::make_shared<const GlooCalibration>(*description.gloo);
  cluster.sources = description.sources;
  cluster.doubts = description.doubts;
  cluster.prices = description.prices;
  cluster.gpu_costs = description.gpu_costs;
  cluster.degraded_links = static_cast<int>(description.degraded.size());
  for (const NodeDescription& node : description.types)
    topology.node_types.push_back(node_type(node, description));
  take_least(cluster, topology.node_types);
  if (!description.gpudirect_stated) assume_gpudirect(cluster);
  if (description.switches) topology.switches = *description.switches;
  topology.switches.oversubscription = cluster.network.oversubscription;
  topology.switches.nodes_together = cluster.hosts_per_node;
  require_domains_on_leaves(description, topology.switches);
  // If leaves are not stated, all traffic that leaves a node crosses the oversubscribed links.
  if (!description.switches && cluster.network.oversubscription > 1) {
    topology.switches.kind = SwitchPlan::Kind::leaf_spine;
  }
  topology.degraded = description.degraded;
  const std::vector<NodePaths> paths = paths_of(topology);
  derive_channels(description, paths, topology);
  cluster.loads = loads_of(topology, paths);
  // A calibration at this exact shape includes the placement of its nodes.
  const bool measured = cluster.calibration && is_calibrated_at(*cluster.calibration, cluster.nodes,
                                                                cluster.gpus_per_node);
  if (cluster.nodes == 1 || measured || !narrows(topology.switches)) return topology;
  if (!description.switches) {
    Topology one_leaf = topology;
    one_leaf.switches.kind = SwitchPlan::Kind::one_switch;
    cluster.loads_under_one_leaf = loads_of(std::move(one_leaf), paths);
  } else if (!topology.switches.placement && order_matters(topology.switches, hosts)) {
    Topology scattered = topology;
    scattered.switches.placement = SwitchPlan::Placement::scattered;
    cluster.loads_scattered = loads_of(std::move(scattered), paths);
  }
  return topology;
}

}  // namespace ddpsim
