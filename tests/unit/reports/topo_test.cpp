// A cluster as text and JSON. The box has two GPUs on an NVSwitch, a PCIe switch with both GPUs and
// a NIC, and one CPU.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "ddpsim/reports/topo_report.hpp"
#include "mentions.hpp"

using namespace ddpsim;
using Json = nlohmann::json;
using namespace ddpsim::literals;

namespace {

NodeGraph box_graph() {
  NodeGraph graph;
  graph.vertices = {{VertexKind::gpu, "gpu0"},          {VertexKind::gpu, "gpu1"},
                    {VertexKind::cpu, "cpu0"},          {VertexKind::pcie_switch, "plx"},
                    {VertexKind::nic, "nic0", 25_GBps}, {VertexKind::nvswitch, "nvs"}};
  graph.wires = {{4, 3, LinkKind::pcie, 0, 15_GBps, 11_GBps},
                 {0, 5, LinkKind::nvlink, 6, 150_GBps, 120_GBps},
                 {1, 5, LinkKind::nvlink, 6, 150_GBps, 120_GBps},
                 {1, 3, LinkKind::pcie, 0, 14_GBps, 10_GBps},
                 {3, 0, LinkKind::pcie, 0, 13_GBps, 9_GBps},
                 {2, 3, LinkKind::pcie, 0, 16_GBps, 12_GBps}};
  return graph;
}

/// Four such boxes.
TopoReport four_boxes() {
  TopoReport report;
  Cluster& cluster = report.topology.cluster;
  cluster.name = "box";
  cluster.nodes = 4;
  cluster.gpus_per_node = 2;
  cluster.gpu = {.name = "V100", .compute_capability = 70, .sms = 80, .memory_bandwidth = 900_GBps};
  cluster.intra = {.kind = IntraKind::nvswitch, .per_gpu = 150_GBps, .links_per_gpu = 6};
  cluster.network = {.kind = NetworkKind::infiniband,
                     .nics_per_node = 1,
                     .per_nic = 25_GBps,
                     .oversubscription = 1.5,
                     .gpudirect = false,
                     .collnet = true};
  cluster.ring = {.channels = 3, .intra = 20_GBps, .inter = 8_GBps};
  cluster.tree = {.channels = 5, .intra = 18_GBps, .inter = 7_GBps};
  cluster.nvls_channels = 16;
  cluster.degraded_links = 2;
  cluster.verified = true;
  cluster.sources = {"a page", "another"};
  cluster.prices = {{24.48, Price::Per::node_hour, "on-demand", "2026-11", "a list"},
                    {150000, Price::Per::node, "bought", "2025-01", "an offer"}};
  // For a gigabyte the busiest link needs 40 ms in a ring and 100 ms in a tree. With 8 ranks the
  // bus bandwidth counts 7/4 of the size.
  LinkLoads loads;
  loads.by_channels = {std::vector{LinkLoad{}}, std::vector{LinkLoad{}}};
  loads.by_channels[0][0].network[static_cast<std::size_t>(LinkKind::nic)] = 0.040e-9;
  loads.by_channels[1][0].local[static_cast<std::size_t>(LinkKind::pcie)] = 0.100e-9;
  cluster.loads = std::make_shared<const LinkLoads>(loads);
  report.topology.summary = "a box for tests";
  report.topology.switches = {.kind = SwitchPlan::Kind::leaf_spine,
                              .nodes_per_leaf = 2,
                              .spines = 3,
                              .oversubscription = 1.5};
  NodeType type;
  type.name = "boxes";
  type.count = 4;
  type.gpu = cluster.gpu;
  type.graph = box_graph();
  type.pcie_assumed = true;
  type.channels = {{{0, 1}, 0, 0}, {{1, 0}, 0, 0}, {{0, 1}, 0, 0}};
  type.path = PathClass::pix;
  report.topology.node_types = {type};
  report.bottleneck = Bottleneck{.kind = LinkKind::nic,
                                 .link = "node0/nic0 > leaf0",
                                 .bandwidth = 25_GBps,
                                 .crossings = 0.5,
                                 .bus_bandwidth = 24_GBps,
                                 .next_kind = LinkKind::pcie,
                                 .next_bus_bandwidth = 30_GBps};
  return report;
}

/// One node with two GPUs that only NVLink connects.
TopoReport pair() {
  TopoReport report;
  Cluster& cluster = report.topology.cluster;
  cluster.name = "pair";
  cluster.gpus_per_node = 2;
  cluster.intra = {.kind = IntraKind::nvlink, .per_gpu = 50_GBps, .links_per_gpu = 2};
  cluster.ring = cluster.tree = {.channels = 2, .intra = 20_GBps, .inter = 20_GBps};
  NodeType type;
  type.name = "pair";
  type.gpu.name = "V100";
  type.graph.vertices = {{VertexKind::gpu, "gpu0"}, {VertexKind::gpu, "gpu1"}};
  type.graph.wires = {{0, 1, LinkKind::nvlink, 2, 50_GBps, 40_GBps}};
  type.channels = {{{0, 1}, std::nullopt, std::nullopt}};
  report.topology.node_types = {type};
  report.bottleneck =
      Bottleneck{.link = "gpu0 > gpu1", .bandwidth = 50_GBps, .bus_bandwidth = 40_GBps};
  return report;
}

std::string page(const TopoReport& report, int width = 100) {
  return topo_text(report, {.width = width});
}

}  // namespace

// The rings have 3 * 8 GB/s. A faster NIC helps up to 30 / 24 times. In the first tree over four
// nodes, 2 is below 0, and 1 and 3 are below 2. The second tree mirrors it.
TEST_CASE("topo page: four nodes behind leaves and spines") {
  CHECK(page(four_boxes()) ==
        R"(box: 8 GPUs in 4 nodes, bound by the NIC at 24 GB/s of bus bandwidth.
  a box for tests

  GPUs        2 × V100 per node, sm_70, 80 SMs, memory 900 GB/s
  joined by   NVSwitch, 150 GB/s per GPU (6 NVLinks)
  network     1 × 25 GB/s ib per node, 2 nodes per leaf, 3 spines, oversubscribed 1.5:1, no
              GPUDirect
  rates       nominal, one direction
  price       24.48 USD per node-hour (on-demand, 2026-11; a list)
  price       150000 USD per node (bought, 2025-01; an offer)
  evidence    checked against an nccl-tests log of this size
  source      a page
  source      another

matrix
        GPU0  GPU1  NIC0
  GPU0  X     NV6   PIX
  GPU1  NV6   X     PIX
  NIC0  PIX   PIX   X

node
  PCIe layout assumed, as in most such servers; a topology file would tell
  └─ cpu0
     └─ plx  16 GB/s
        ├─ gpu0  13 GB/s  NVLink 6×nvs 150 GB/s
        ├─ gpu1  14 GB/s  NVLink 6×nvs 150 GB/s
        └─ nic0  15 GB/s  → network 25 GB/s

channels
  rings       3 of 8 GB/s (NCCL's figure), 24 GB/s bus bandwidth; NCCL connects each twice
  trees       5 of 18 GB/s inside a node, 7 GB/s between nodes; the same orders as rings, each as a
              chain below its first GPU
  NVLS        16 channels reduce in the NVSwitch
  CollNet     network switches reduce (SHARP)
   2 ×  nic0 > 0 1 > nic0
   1 ×  nic0 > 1 0 > nic0
  nodes, one  0-(2-(1,3))
  the other   3-(1-(0,2))

bottleneck
  A large ring all-reduce fills node0/nic0 > leaf0 first: 25 GB/s in one direction. It carries 50 %
  of the channels' traffic, so bus bandwidth is at most 24 GB/s, before protocol overhead. A
  faster link helps up to 1.25 times its rate; from 30 GB/s of bus bandwidth on, the limit is
  PCIe. NCCL's trees reach at most 17.5 GB/s.

  2 links slower than its rate: every channel that uses it waits
)");
}

TEST_CASE("topo page: two GPUs of one node have no network") {
  CHECK(page(pair()) == R"(pair: 2 GPUs, bound by NVLink at 40 GB/s of bus bandwidth.

  GPUs        2 × V100 per node, sm_0, 0 SMs, memory 0 GB/s
  joined by   NVLink, 50 GB/s per GPU that rings can use (2 links)
  rates       nominal, one direction
  evidence    not calibrated at this size: link speeds come from data sheets

matrix
        GPU0  GPU1
  GPU0  X     NV2
  GPU1  NV2   X

node
  ├─ gpu0  NVLink 2×gpu1
  └─ gpu1  NVLink 2×gpu0

channels
  rings       2 of 20 GB/s (NCCL's figure), 40 GB/s bus bandwidth; NCCL connects each twice
  trees       2 of 20 GB/s; the same orders as rings, each as a chain below its first GPU
   1 ×  0 1 0

bottleneck
  A large ring all-reduce fills gpu0 > gpu1 first: 50 GB/s in one direction. It carries 100 % of the
  channels' traffic, so bus bandwidth is at most 40 GB/s, before protocol overhead. Channels use
  no other kind of link, so a faster one speeds up the all-reduce in proportion.
)");
}

TEST_CASE("topo page: one GPU sends nothing") {
  TopoReport report = pair();
  report.topology.cluster.gpus_per_node = 1;
  report.bottleneck.reset();
  report.topology.node_types[0].graph.vertices.pop_back();
  report.topology.node_types[0].graph.wires.clear();
  const std::string text = page(report);
  CHECK(text.starts_with("pair: 1 GPU.\n"));
  CHECK_FALSE(mentions(text, "joined by"));
  CHECK(text.ends_with("\nnode\n  └─ gpu0\n\nchannels\n  one GPU: nothing to send\n"));
}

TEST_CASE("topo page: there is no bottleneck if there are too many ranks to lay out") {
  TopoReport report = pair();
  report.bottleneck.reset();
  report.topology.cluster.nodes = 40'000;
  CHECK(page(report).ends_with(
      "\nbottleneck\n  80000 ranks are too many to lay out link by link (at most 65536)\n"));
}

TEST_CASE("topo page: channels use only one kind of link") {
  TopoReport report = four_boxes();
  report.bottleneck->next_kind.reset();
  report.topology.cluster.degraded_links = 0;
  CHECK(page(report, 1000)
            .ends_with("before protocol overhead. Channels use no other kind of link, so a faster "
                       "one speeds up the all-reduce in proportion. NCCL's trees reach at most "
                       "17.5 GB/s.\n"));
}

TEST_CASE("topo page: types of nodes have their names") {
  TopoReport report = four_boxes();
  report.topology.node_types.push_back(report.topology.node_types[0]);
  report.topology.node_types[0].count = 3;
  report.topology.node_types[1].count = 1;
  report.topology.node_types[1].name = "other";
  report.topology.node_types[1].gpu.name = "P100";
  report.topology.node_types[1].pcie_assumed = false;
  const std::string text = page(report);
  CHECK(mentions(text, "  GPUs        boxes (3 nodes): 2 × V100 per node,"));
  CHECK(mentions(text, "  GPUs        other (1 node): 2 × P100 per node,"));
  CHECK(mentions(text, "\nmatrix of boxes\n"));
  CHECK(mentions(text, "\nnode of other\n  └─ cpu0\n"));
  CHECK(mentions(text, "\n  boxes\n   2 ×  nic0"));
  CHECK(mentions(text, "\n  other\n   2 ×  nic0"));
}

TEST_CASE("topo page: the evidence of an unverified cluster is its calibration") {
  TopoReport report = four_boxes();
  Calibration calibration;
  calibration.shapes = {{.nodes = 4, .gpus_per_node = 2}};
  report.topology.cluster.calibration = std::make_shared<const Calibration>(calibration);
  CHECK(mentions(page(report), "  evidence    the cluster is calibrated with 1 log of it\n"));
}

TEST_CASE("topo page: assumptions about connections, and doubtful values") {
  TopoReport report = four_boxes();
  Cluster& cluster = report.topology.cluster;
  cluster.verified = false;
  cluster.network.kind = NetworkKind::tcp;
  cluster.network.sockets = Sockets::virtual_nic;
  cluster.network.per_nic = Bandwidth::gigabytes_per_second(0.1);
  const std::string text = page(report, 1000);
  CHECK(mentions(
      text, "3.3 to 3.9; the bound above is the NICs' alone\n  doubtful    a NIC of 0.1 GB/s"));
}

TEST_CASE("topo page: trees are drawn up to 32 nodes") {
  TopoReport report = four_boxes();
  report.topology.cluster.nodes = 32;
  CHECK(mentions(page(report), "nodes, one  0-(16-("));
  report.topology.cluster.nodes = 33;
  CHECK_FALSE(mentions(page(report), "nodes, one"));
}

TEST_CASE("topo page: sixteen orders are printed, more are counted") {
  TopoReport report = pair();
  auto& channels = report.topology.node_types[0].channels;
  channels.clear();
  for (std::uint32_t gpu = 0; gpu < 16; ++gpu)
    channels.push_back({{gpu}, std::nullopt, std::nullopt});
  CHECK(mentions(page(report), "   1 ×  15 \n"));
  CHECK_FALSE(mentions(page(report), "further"));
  for (std::uint32_t gpu = 16; gpu < 18; ++gpu)
    channels.push_back({{gpu}, std::nullopt, std::nullopt});
  CHECK(mentions(page(report), "   1 ×  15 \n  and 2 further orders\n"));
}

TEST_CASE("topo page: up to 24 devices have a matrix") {
  TopoReport report = pair();
  NodeGraph& graph = report.topology.node_types[0].graph;
  const auto grow_to = [&](std::size_t count) {
    while (graph.vertices.size() < count)
      graph.vertices.push_back({VertexKind::gpu, "gpu" + std::to_string(graph.vertices.size())});
  };
  grow_to(24);
  CHECK(mentions(page(report), "  GPU23"));
  grow_to(25);
  CHECK(mentions(page(report),
                 "\nmatrix\n  25 devices are too many to print; --json has them all\n"));
}

TEST_CASE("topo document: every key") {
  TopoReport report = four_boxes();
  NodeType& type = report.topology.node_types[0];
  type.channels = {{{0, 1}, 0, std::nullopt}};
  CHECK(Json::parse(topo_json(report)) == Json::parse(R"json({
    "schema": "ddpsim.topo/1",
    "cluster": {
      "name": "box", "summary": "a box for tests",
      "line": null, "nodes": 4, "gpus_per_node": 2, "ranks": 8, "gpu": "V100", "gpu_variant": "V100",
      "gpu_memory_bytes": 0,
      "intra": {"kind": "nvswitch", "per_gpu_gbps": 150, "links_per_gpu": 6},
      "network": {"kind": "ib", "nics_per_node": 1, "per_nic_gbps": 25, "switches": "leaf-spine",
                  "oversubscription": 1.5, "gpudirect": false, "collnet": true},
      "degraded_links": 2, "verified": true, "sources": ["a page", "another"],
      "prices": [{"usd": 24.48, "per": "node_hour", "terms": "on-demand", "as_of": "2026-11", "source": "a list"},
                 {"usd": 150000, "per": "node", "terms": "bought", "as_of": "2025-01", "source": "an offer"}]},
    "ring": {"channels": 3, "intra_gbps": 20, "inter_gbps": 8},
    "tree": {"channels": 5, "intra_gbps": 18, "inter_gbps": 7},
    "nvls_channels": 16,
    "node_types": [{
      "name": "boxes", "count": 4, "gpu": "V100", "gpu_variant": "V100", "pcie_assumed": true,
      "vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"}, {"name": "cpu0", "kind": "cpu"},
                   {"name": "plx", "kind": "pcie-switch"}, {"name": "nic0", "kind": "nic", "rate_gbps": 25},
                   {"name": "nvs", "kind": "nvswitch"}],
      "links": [{"between": ["nic0", "plx"], "kind": "pcie", "rate_gbps": 15, "nccl_gbps": 11},
                {"between": ["gpu0", "nvs"], "kind": "nvlink", "links": 6, "rate_gbps": 150, "nccl_gbps": 120},
                {"between": ["gpu1", "nvs"], "kind": "nvlink", "links": 6, "rate_gbps": 150, "nccl_gbps": 120},
                {"between": ["gpu1", "plx"], "kind": "pcie", "rate_gbps": 14, "nccl_gbps": 10},
                {"between": ["plx", "gpu0"], "kind": "pcie", "rate_gbps": 13, "nccl_gbps": 9},
                {"between": ["cpu0", "plx"], "kind": "pcie", "rate_gbps": 16, "nccl_gbps": 12}],
      "matrix": {"devices": ["GPU0", "GPU1", "NIC0"],
                 "cells": [["X", "NV6", "PIX"], ["NV6", "X", "PIX"], ["PIX", "PIX", "X"]]},
      "path": "PIX",
      "channels": [{"gpus": [0, 1], "nic_in": 0}]}],
    "node_trees": [[null, 2, 0, 2], [1, 3, 1, null]],
    "bottleneck": {"kind": "nic", "link": "node0/nic0 > leaf0", "rate_gbps": 25, "traffic_share": 0.5,
                   "busbw_gbps": 24, "next_kind": "pcie", "next_busbw_gbps": 30},
    "bounds": {"ring_busbw_gbps": 25, "tree_busbw_gbps": 17.5},
    "warnings": []})json"));
  report.bottleneck->next_kind.reset();
  type.channels = {{{1, 0}, std::nullopt, 1}};
  Json doc = Json::parse(topo_json(report));
  CHECK_FALSE(doc["bottleneck"].contains("next_kind"));
  CHECK(doc["node_types"][0]["channels"] == Json::parse(R"([{"gpus": [1, 0], "nic_out": 1}])"));
  report.bottleneck.reset();
  report.topology.cluster.nodes = 1;
  doc = Json::parse(topo_json(report));
  CHECK(doc["bottleneck"].is_null());
  CHECK(doc["node_trees"].empty());
}

TEST_CASE("topo document: node trees up to 4096 nodes") {
  TopoReport report = four_boxes();
  report.topology.cluster.nodes = 4096;
  CHECK(Json::parse(topo_json(report))["node_trees"][1].size() == 4096);
  report.topology.cluster.nodes = 4097;
  CHECK(Json::parse(topo_json(report))["node_trees"].empty());
}
