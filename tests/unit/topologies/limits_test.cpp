// Limits of cluster readers: the last accepted value and the first refused one.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_ranges.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"
#include "switch_list.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

struct Border {
  std::string taken;
  std::string refused;
};

template <typename Read>
void check_borders(const std::vector<Border>& borders, const Read& read) {
  for (const Border& border : borders) {
    CAPTURE(border.taken);
    CAPTURE(border.refused);
    CHECK_NOTHROW(read(border.taken));
    CHECK_THROWS_AS(read(border.refused), InputError);
  }
}

}  // namespace

TEST_CASE("limits of a line: counts, ratios and times") {
  const std::string two = "node:2 gpu:2xV100 pcie:12GBps nic:1x10Gbps:tcp ";
  check_borders(
      {{"node:1000000 gpu:1xV100 nic:1x1Gbps", "node:1000001 gpu:1xV100 nic:1x1Gbps"},
       {"node:1 gpu:576xV100 pcie:12GBps", "node:1 gpu:577xV100 pcie:12GBps"},
       {"node:1 gpu:2xV100 nvlink:64x1GBps:pair", "node:1 gpu:2xV100 nvlink:65x1GBps:pair"},
       {"node:2 gpu:2xV100 pcie:12GBps nic:576x10Gbps",
        "node:2 gpu:2xV100 pcie:12GBps nic:577x10Gbps"},
       {"node:2 gpu:2xV100 pcie:12GBps nic:1x8x10Gbps",
        "node:2 gpu:2xV100 pcie:12GBps nic:1x9x10Gbps"},
       {"node:2 gpu:2xV100 nvswitch:150GBps domain:576",
        "node:2 gpu:2xV100 nvswitch:150GBps domain:577"},
       {two + "leaf:2 pod:4 oversubscription:1,1000", two + "leaf:2 pod:4 oversubscription:1,1001"},
       {two + "leaf:2 pod:4", two + "leaf:2 pod:5"},
       {two + "rail:65536", two + "rail:65537"},
       {two + "oversubscription:1", two + "oversubscription:0.99"},
       {two + "oversubscription:1000", two + "oversubscription:1001"},
       {two + "latency:1s", two + "latency:1.1s"},
       {two + "connection:5Gbps",
        "node:2 gpu:2xV100 pcie:12GBps nic:1x10Gbps:tcpx connection:5Gbps"}},
      [](const std::string& line) { describe_line(line); });
}

TEST_CASE("limits of a cluster: ten million ranks") {
  check_borders({{"node:100000 gpu:100xV100 pcie:12GBps nic:1x1Gbps",
                  "node:100001 gpu:100xV100 pcie:12GBps nic:1x1Gbps"}},
                [](const std::string& line) { parse_cluster_line(line); });
}

TEST_CASE("limits of layouts: GPUs that direct NVLinks join") {
  const auto problem = [](NvlinkLayout layout, int gpus, int links) {
    return !layout_problem({.kind = IntraKind::nvlink, .links_per_gpu = links, .layout = layout},
                           gpus)
                .empty();
  };
  CHECK_FALSE(problem(NvlinkLayout::pair, 2, 5));
  CHECK(problem(NvlinkLayout::pair, 3, 6));
  CHECK(problem(NvlinkLayout::mesh, 1, 6));
  CHECK_FALSE(problem(NvlinkLayout::mesh, 2, 5));
  CHECK_FALSE(problem(NvlinkLayout::mesh, 4, 6));
  CHECK(problem(NvlinkLayout::mesh, 4, 5));
  CHECK_FALSE(problem(NvlinkLayout::cube, 8, 6));
  CHECK_FALSE(problem(NvlinkLayout::cube, 8, 4));
  CHECK(problem(NvlinkLayout::cube, 8, 5));
  CHECK(problem(NvlinkLayout::cube, 7, 6));
  CHECK(layout_problem({.kind = IntraKind::none}, 1).empty());
  CHECK_FALSE(layout_problem({.kind = IntraKind::none}, 2).empty());
  CHECK(layout_problem({.kind = IntraKind::pcie}, 5).empty());
  CHECK(default_layout(2, GpuVendor::nvidia) == NvlinkLayout::pair);
  CHECK(default_layout(4, GpuVendor::nvidia) == NvlinkLayout::mesh);
  CHECK(default_layout(8, GpuVendor::nvidia) == NvlinkLayout::cube);
  CHECK(default_layout(2, GpuVendor::amd) == NvlinkLayout::pair);
  CHECK(default_layout(8, GpuVendor::amd) == NvlinkLayout::mesh);
}

TEST_CASE("limits of ranges: ten thousand clusters, up to a million nodes") {
  check_borders({{"dgx1v@1..10000", "dgx1v@1..10001"},
                 {"dgx1v@999999..1000000", "dgx1v@999999..1000001"},
                 {"dgx1v@1..2", "dgx1v@0..2"},
                 {"dgx1v@1..4*2", "dgx1v@1..4*1"}},
                [](const std::string& text) { cluster_ranges(text); });
  CHECK(cluster_ranges("dgx1v@1..10000").size() == 10000);
}

TEST_CASE("limits of a cluster file: channels, prices, verified sizes") {
  const auto file = [](const std::string& more) {
    return R"({"schema": "ddpsim.cluster/1", "name": "lab", "nodes": 2,
        "node": {"gpus": 2, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}},
        "network": {"kind": "tcp", "nics_per_node": 1, "per_nic": "10Gbps")" +
           more + "}";
  };
  const auto in_network = [&](const std::string& field) { return file(", " + field + "}"); };
  const auto beside = [&](const std::string& field) { return file("}, " + field); };
  const auto nccl = [&](const std::string& channels) {
    return beside(R"("nccl": {"search_channels": )" + channels + R"(, "per_channel": "5GBps"})");
  };
  check_borders(
      {{nccl("32"), nccl("33")},
       {nccl("1"), nccl("0")},
       {in_network(R"("oversubscription": 1)"), in_network(R"("oversubscription": 0.9)")},
       {in_network(R"("oversubscription": 1000)"), in_network(R"("oversubscription": 1001)")},
       {in_network(R"("latency": "1s")"), in_network(R"("latency": "1001ms")")},
       {beside(R"("prices": [{"usd": 0}])"), beside(R"("prices": [{"usd": -1}])")},
       {beside(R"("prices": [{"usd": 1e9}])"), beside(R"("prices": [{"usd": 1.1e9}])")},
       {beside(R"("verified": [1])"), beside(R"("verified": [0])")},
       {beside(R"("switches": {"kind": "rail", "nodes_per_leaf": 1, "spines": 1024})"),
        beside(R"("switches": {"kind": "rail", "nodes_per_leaf": 1, "spines": 1025})")},
       {beside(R"("switches": {"kind": "leaf-spine", "nodes_per_leaf": 65536})"),
        beside(R"("switches": {"kind": "leaf-spine", "nodes_per_leaf": 65537})")}},
      [](const std::string& text) { describe_file(text, "lab.json"); });
}

TEST_CASE("limits of lists: types of nodes, vertices of a node, nodes and switches") {
  const auto listed = [](int count, const auto& item) {
    std::string text;
    for (int k = 0; k < count; ++k) text += (k > 0 ? ", " : "") + item(std::to_string(k));
    return text;
  };
  const auto types = [&](int count) {
    return R"({"schema": "ddpsim.cluster/1", "name": "lab",
        "network": {"kind": "tcp", "nics_per_node": 1, "per_nic": "10Gbps"}, "node_types": [)" +
           listed(count,
                  [](const std::string& k) {
                    return R"({"name": "t)" + k +
                           R"(", "count": 1, "node": {"gpus": 1, "gpu": "V100"}})";
                  }) +
           "]}";
  };
  const auto vertices = [&](int count) {
    return R"({"schema": "ddpsim.cluster/1", "name": "lab", "node": {"gpu": "H100",
        "wiring": {"links": [], "vertices": [{"name": "g", "kind": "gpu"}, )" +
           listed(
               count - 1,
               [](const std::string& k) { return R"({"name": "c)" + k + R"(", "kind": "cpu"})"; }) +
           "]}}}";
  };
  check_borders({{types(64), types(65)}, {vertices(1024), vertices(1025)}},
                [](const std::string& text) { describe_file(text, "lab.json"); });
  const auto switches = [&](int count) {
    std::string text;
    for (int k = 0; k < count; ++k)
      text += "h" + std::to_string(k) + " s" + std::to_string(k) + "\n";
    return text + "SwitchName=top Switches=s[0-" + std::to_string(count - 1) + "]\n";
  };
  check_borders({{"SwitchName=leaf Nodes=n[1-65536]", "SwitchName=leaf Nodes=n[1-65537]"},
                 {switches(16'383), switches(16'384)}},
                [](const std::string& text) { parse_switch_list(text, "switches.txt"); });
}

TEST_CASE("cluster file: switches of every kind") {
  const auto plan = [](const std::string& switches) {
    return *describe_file(R"({"schema": "ddpsim.cluster/1", "name": "lab",
        "node": {"gpus": 1, "gpu": "V100"}, "switches": )" +
                              switches + "}",
                          "lab.json")
                .switches;
  };
  CHECK(plan(R"({"kind": "one-switch"})").kind == SwitchPlan::Kind::one_switch);
  const SwitchPlan leaves = plan(R"({"kind": "leaf-spine", "nodes_per_leaf": 3, "spines": 2})");
  CHECK(leaves.kind == SwitchPlan::Kind::leaf_spine);
  CHECK(leaves.nodes_per_leaf == 3);
  CHECK(leaves.spines == 2);
  const SwitchPlan rails = plan(R"({"kind": "rail", "nodes_per_leaf": 4})");
  CHECK(rails.kind == SwitchPlan::Kind::rail);
  CHECK(rails.nodes_per_leaf == 4);
  CHECK(rails.spines == 1);
}

TEST_CASE("cluster file: wiring link by link") {
  const ClusterDescription lab = describe_file(R"({"schema": "ddpsim.cluster/1", "name": "lab",
      "node": {"gpu": "H100", "wiring": {
        "vertices": [{"name": "a", "kind": "gpu"}, {"name": "b", "kind": "gpu"},
                     {"name": "hub", "kind": "nvswitch"}, {"name": "p", "kind": "pcie-switch"},
                     {"name": "c", "kind": "cpu"}, {"name": "n", "kind": "nic", "rate": "100Gbps"}],
        "links": [{"between": ["a", "hub"], "kind": "nvlink", "links": 3, "per_link": "25GBps"},
                  {"between": ["b", "hub"], "kind": "nvlink", "per_link": "25GBps"},
                  {"between": ["a", "p"], "kind": "pcie", "rate": "63GBps"},
                  {"between": ["p", "c"], "kind": "socket", "rate": "11GBps"},
                  {"between": ["n", "p"], "kind": "pcie", "rate": "31.5GBps"}]}}})",
                                               "lab.json");
  const NodeGraph& graph = *lab.types.front().wiring;
  using Kind = VertexKind;
  const Kind kinds[] = {Kind::gpu,         Kind::gpu, Kind::nvswitch,
                        Kind::pcie_switch, Kind::cpu, Kind::nic};
  REQUIRE(graph.vertices.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(graph.vertices[i].kind == kinds[i]);
  CHECK(graph.vertices[5].port == 12.5_GBps);
  CHECK(graph.vertices[5].name == "n");
  struct Expected {
    std::uint32_t a, b;
    LinkKind kind;
    int lanes;
    double nominal, nccl;
  };
  const Expected wires[] = {{0, 2, LinkKind::nvlink, 3, 75, 3 * 20.6},
                            {1, 2, LinkKind::nvlink, 1, 25, 20.6},
                            {0, 3, LinkKind::pcie, 0, 63, 48},
                            {3, 4, LinkKind::socket, 0, 11, 11},
                            {5, 3, LinkKind::pcie, 0, 31.5, 24}};
  REQUIRE(graph.wires.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    const Wire& wire = graph.wires[i];
    CHECK(wire.a == wires[i].a);
    CHECK(wire.b == wires[i].b);
    CHECK(wire.kind == wires[i].kind);
    CHECK(wire.lanes == wires[i].lanes);
    CHECK(wire.nominal.gigabytes_per_second() == doctest::Approx(wires[i].nominal));
    CHECK(wire.nccl.gigabytes_per_second() == doctest::Approx(wires[i].nccl));
  }
  CHECK(lab.types.front().gpus_per_node == 2);
}

TEST_CASE("resized: types of nodes keep their counts, and all nodes lose the same GPUs") {
  const std::string text = R"({"schema": "ddpsim.cluster/1", "name": "mixed", "node_types": [
      {"name": "a", "count": 2, "node": {"gpus": 4, "gpu": "V100",
       "interconnect": {"kind": "nvswitch", "per_gpu": "150GBps"}}},
      {"name": "b", "count": 1, "node": {"gpus": 4, "gpu": "A100",
       "interconnect": {"kind": "nvswitch", "per_gpu": "300GBps"}}}],
      "network": {"kind": "ib", "nics_per_node": 1, "per_nic": "100Gbps"}})";
  ClusterDescription mixed = describe_file(text, "mixed.json");
  CHECK(mixed.nodes() == 3);
  CHECK_THROWS_AS(resize(mixed, 4, {}), InputError);
  CHECK_NOTHROW(resize(mixed, 3, {}));
  CHECK_THROWS_AS(resize(mixed, {}, 5), InputError);
  CHECK_THROWS_AS(resize(mixed, {}, 0), InputError);
  resize(mixed, {}, 3);
  CHECK(mixed.types[0].gpus_per_node == 3);
  CHECK(mixed.types[1].gpus_per_node == 3);
  CHECK(mixed.types[1].gpus_in_layout == 4);
  ClusterDescription one = describe_line("node:2 gpu:4xV100 nvswitch:150GBps nic:1x10Gbps");
  CHECK_NOTHROW(resize(one, 1'000'000, {}));
  CHECK(one.nodes() == 1'000'000);
  CHECK_THROWS_AS(resize(one, 1'000'001, {}), InputError);
  CHECK_THROWS_AS(resize(one, 0, {}), InputError);
}

TEST_CASE("resized: stated channels apply to one node or to several") {
  const auto stated = [](int nodes, int asked, int gpus) {
    ClusterDescription lab = describe_file(
        R"({"schema": "ddpsim.cluster/1", "name": "lab", "nodes": )" + std::to_string(nodes) +
            R"(, "verified": true,
        "node": {"gpus": 4, "gpu": "V100", "interconnect": {"kind": "pcie", "per_gpu": "12GBps"}},
        "nccl": {"search_channels": 3, "per_channel": "5GBps"}})",
        "lab.json");
    resize(lab, asked, gpus);
    CHECK(lab.verified_nodes.empty() == (gpus != 4));
    return lab.stated.has_value();
  };
  CHECK(stated(1, 1, 4));
  CHECK_FALSE(stated(1, 2, 4));
  CHECK(stated(2, 3, 4));
  CHECK_FALSE(stated(2, 1, 4));
  CHECK_FALSE(stated(1, 1, 3));
}

TEST_CASE("fabric: a parent's first GPU serves one child, its second GPU the other") {
  // Four nodes of two GPUs, with a chain inside each. In tree 0, nodes 1 and 3 are under 2, and 2
  // is under 0 as its second child. Tree 1 is the mirror image.
  const Topology topology =
      load_topology({"node:4 gpu:2xV100 nvswitch:150GBps nic:1x100Gbps:ib", {}, {}});
  const Fabric fabric = build_fabric(topology);
  REQUIRE(fabric.trees.size() == 2);
  using Ranks = std::vector<std::uint32_t>;
  CHECK(topology.node_types.front().channels[0].gpus == Ranks{0, 1});
  CHECK(fabric.trees[0].parent == Ranks{0, 0, 4, 2, 1, 4, 5, 6});
  CHECK(fabric.trees[1].parent == Ranks{3, 0, 7, 2, 2, 4, 6, 6});
  CHECK(fabric.rings[0].ranks == Ranks{0, 1, 2, 3, 4, 5, 6, 7});
  // Inside a node: to the switch and back. Between nodes: over PCIe switch and NIC on both sides.
  CHECK(fabric.rings[0].to_next[0].count == 2);
  CHECK(fabric.rings[0].to_next[1].count == 6);
  Topology part = topology;
  const std::vector<std::uint32_t> nodes = {3, 1};
  const Fabric job = build_fabric(part, nodes);
  CHECK(job.rings[0].ranks == Ranks{0, 1, 2, 3});
  CHECK(job.links[job.links_of(job.rings[0].to_next[0])[0]].name == "node3/gpu0 > node3/nvswitch0");
  CHECK(job.links[job.links_of(job.rings[0].to_next[2])[0]].name == "node1/gpu0 > node1/nvswitch0");
}
