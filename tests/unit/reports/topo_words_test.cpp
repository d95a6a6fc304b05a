// A cluster's links in words, and one node drawn as a tree.
#include <doctest/doctest.h>

#include "node_drawing.hpp"
#include "topo_words.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("topo words: the kinds of links, with one NIC or several") {
  Cluster cluster;
  cluster.network.nics_per_node = 1;
  CHECK(kind_words(LinkKind::nvlink, cluster) == "NVLink");
  CHECK(kind_words(LinkKind::pcie, cluster) == "PCIe");
  CHECK(kind_words(LinkKind::socket, cluster) == "the link between CPUs");
  CHECK(kind_words(LinkKind::nic, cluster) == "the NIC");
  CHECK(kind_words(LinkKind::network, cluster) == "the links between switches");
  cluster.network.nics_per_node = 2;
  CHECK(kind_words(LinkKind::nic, cluster) == "the NICs");
  CHECK(kind_word(LinkKind::nvlink) == "nvlink");
  CHECK(kind_word(LinkKind::pcie) == "pcie");
  CHECK(kind_word(LinkKind::socket) == "socket");
  CHECK(kind_word(LinkKind::nic) == "nic");
  CHECK(kind_word(LinkKind::network) == "network");
  CHECK(kind_word(SwitchPlan::Kind::one_switch) == "one-switch");
  CHECK(kind_word(SwitchPlan::Kind::leaf_spine) == "leaf-spine");
  CHECK(kind_word(SwitchPlan::Kind::rail) == "rail");
  CHECK(kind_word(SwitchPlan::Kind::stated) == "list");
}

TEST_CASE("topo words: how GPUs are connected") {
  Cluster cluster;
  cluster.intra = {.kind = IntraKind::none, .per_gpu = 12.5_GBps, .links_per_gpu = 1};
  CHECK(joined_words(cluster) == "nothing");
  cluster.intra.kind = IntraKind::pcie;
  CHECK(joined_words(cluster) ==
        "PCIe, 12.5 GB/s per GPU, peer to peer under each root, through host memory between roots");
  cluster.intra.peers = PeerAccess::one_root;
  CHECK(joined_words(cluster) == "PCIe, 12.5 GB/s per GPU, peer to peer under one root");
  cluster.intra.kind = IntraKind::nvlink;
  CHECK(joined_words(cluster) == "NVLink, 12.5 GB/s per GPU that rings can use (1 link)");
  cluster.intra.kind = IntraKind::nvswitch;
  CHECK(joined_words(cluster) == "NVSwitch, 12.5 GB/s per GPU (1 NVLink)");
}

TEST_CASE("topo words: how switches connect nodes") {
  Topology topology;
  topology.cluster.network = {
      .kind = NetworkKind::infiniband, .nics_per_node = 1, .per_nic = 25_GBps};
  const auto words = [&](SwitchPlan plan) {
    topology.switches = std::move(plan);
    return network_words(topology);
  };
  CHECK(words({.kind = SwitchPlan::Kind::one_switch}) == "1 × 25 GB/s ib per node, one switch");
  CHECK(words({.kind = SwitchPlan::Kind::leaf_spine, .nodes_per_leaf = 1, .spines = 2}) ==
        "1 × 25 GB/s ib per node, 1 node per leaf, 2 spines");
  CHECK(
      words({.kind = SwitchPlan::Kind::rail,
             .nodes_per_leaf = 4,
             .spines = 1,
             .oversubscription = 2}) ==
      "1 × 25 GB/s ib per node, a switch per rail and pod of 4 nodes, 1 spine, oversubscribed 2:1");
  CHECK(words({.kind = SwitchPlan::Kind::stated, .switches = {{"s", {}}, {"t", 0}}}) ==
        "1 × 25 GB/s ib per node, 2 switches as listed");
  topology.cluster.network.gpudirect = false;
  CHECK(words({}) == "1 × 25 GB/s ib per node, one switch, no GPUDirect");
}

TEST_CASE("node drawing: two CPUs, each with its devices; the link between them is not a branch") {
  NodeGraph graph;
  graph.vertices = {{VertexKind::cpu, "cpu0"},
                    {VertexKind::cpu, "cpu1"},
                    {VertexKind::nic, "nic0"},
                    {VertexKind::gpu, "gpu\x1b"}};
  graph.wires = {{0, 1, LinkKind::socket, 0, 20_GBps, 10_GBps},
                 {2, 0, LinkKind::pcie, 0, 12.34567_GBps, 10_GBps},
                 {0, 3, LinkKind::pcie, 0, 8_GBps, 6_GBps}};
  CHECK(draw_node(graph, {}) ==
        "  ├─ cpu0\n  │  ├─ gpu?  8 GB/s\n  │  └─ nic0  12.35 GB/s\n  └─ cpu1\n");
  CHECK(draw_node(graph, {.colour = true}).find("gpu?\x1b[2m  8 GB/s\x1b[0m\n") !=
        std::string::npos);
}

TEST_CASE("node drawing: a single NVLink has no count, and an NVSwitch is not a root") {
  NodeGraph graph;
  graph.vertices = {
      {VertexKind::nvswitch, "nvs"}, {VertexKind::gpu, "gpu0"}, {VertexKind::gpu, "gpu1"}};
  graph.wires = {{0, 1, LinkKind::nvlink, 1, 25_GBps, 20_GBps},
                 {2, 1, LinkKind::nvlink, 1, 25_GBps, 20_GBps}};
  CHECK(draw_node(graph, {}) == "  ├─ gpu0  NVLink nvs 25 GB/s gpu1\n  └─ gpu1  NVLink gpu0\n");
}

TEST_CASE("node drawing: a device without a link to a CPU is a root") {
  NodeGraph graph;
  graph.vertices = {
      {VertexKind::cpu, "cpu0"}, {VertexKind::nic, "nic0"}, {VertexKind::gpu, "gpu0"}};
  graph.wires = {{1, 0, LinkKind::pcie, 0, 15_GBps, 11_GBps}};
  CHECK(draw_node(graph, {}) == "  ├─ cpu0\n  │  └─ nic0  15 GB/s\n  └─ gpu0\n");
}
