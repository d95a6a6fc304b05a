// Small networks of switches and the routes over them.
#include "network_graph.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "node_paths.hpp"
#include "shortest_routes.hpp"
#include "switch_list.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using Names = std::vector<std::string>;
using Arcs = std::vector<std::uint32_t>;
using Ports = std::vector<std::vector<std::uint32_t>>;

/// One NIC of 10 GB/s, two of 10 GB/s, one of 5 GB/s.
const std::vector<std::vector<Bandwidth>> kRates = {{10_GBps}, {10_GBps, 10_GBps}, {5_GBps}};

void check_trunk(const Trunk& trunk, std::uint32_t below, std::uint32_t above, double rate) {
  CHECK(trunk.below == below);
  CHECK(trunk.above == above);
  CHECK(trunk.bandwidth.gigabytes_per_second() == doctest::Approx(rate));
}

}  // namespace

TEST_CASE("network graph: one switch has every port and no trunk") {
  const NetworkGraph network = draw_network({}, kRates);
  CHECK(network.switches == Names{"switch"});
  CHECK(network.trunks.empty());
  CHECK(network.ports == Ports{{0}, {0, 0}, {0}});
}

TEST_CASE("network graph: a leaf's ports are divided by spines and oversubscription") {
  SwitchPlan plan{.kind = SwitchPlan::Kind::leaf_spine,
                  .nodes_per_leaf = 2,
                  .spines = 2,
                  .oversubscription = 3};
  const NetworkGraph network = draw_network(plan, kRates);
  CHECK(network.switches == Names{"leaf0", "leaf1", "spine0", "spine1"});
  CHECK(network.ports == Ports{{0}, {0, 0}, {1}});
  REQUIRE(network.trunks.size() == 4);
  check_trunk(network.trunks[0], 0, 2, 30 / 6.0);
  check_trunk(network.trunks[1], 0, 3, 30 / 6.0);
  // The second leaf has one node, but uplinks for two.
  check_trunk(network.trunks[2], 1, 2, 10 / 6.0);
  check_trunk(network.trunks[3], 1, 3, 10 / 6.0);
  // With all nodes under one leaf, no spine is needed.
  plan.nodes_per_leaf = 3;
  CHECK(draw_network(plan, kRates).trunks.empty());
  CHECK(draw_network(plan, kRates).switches == Names{"leaf0"});
}

TEST_CASE("network graph: rails join NICs with the same index") {
  const SwitchPlan plan{
      .kind = SwitchPlan::Kind::rail, .nodes_per_leaf = 2, .spines = 1, .oversubscription = 2};
  const NetworkGraph network = draw_network(plan, kRates);
  CHECK(network.switches ==
        Names{"pod0-rail0", "pod0-rail1", "pod1-rail0", "pod1-rail1", "spine0"});
  CHECK(network.ports == Ports{{0}, {0, 1}, {2}});
  REQUIRE(network.trunks.size() == 4);
  check_trunk(network.trunks[0], 0, 4, 20 / 2.0);
  check_trunk(network.trunks[1], 1, 4, 10 / 2.0);
  check_trunk(network.trunks[2], 2, 4, 10 / 2.0);
  check_trunk(network.trunks[3], 3, 4, 0);
}

TEST_CASE("network graph: spines of a pod connect to a core with their own ratio") {
  const std::vector<std::vector<Bandwidth>> six(6, {10_GBps});
  SwitchPlan plan{.kind = SwitchPlan::Kind::leaf_spine,
                  .nodes_per_leaf = 2,
                  .spines = 1,
                  .oversubscription = 2,
                  .nodes_per_pod = 4,
                  .pod_oversubscription = 4};
  const NetworkGraph network = draw_network(plan, six);
  CHECK(network.switches == Names{"leaf0", "leaf1", "leaf2", "pod0-spine0", "pod1-spine0", "core"});
  REQUIRE(network.trunks.size() == 5);
  check_trunk(network.trunks[0], 0, 3, 10);
  check_trunk(network.trunks[1], 1, 3, 10);
  check_trunk(network.trunks[2], 2, 4, 10);
  check_trunk(network.trunks[3], 3, 5, 20 / 4.0);
  check_trunk(network.trunks[4], 4, 5, 20 / 4.0);  // the missing leaf counts
  CHECK(SwitchRoutes(network).route(0, 2, 0).size() == 4);
  // One pod needs no core.
  plan.nodes_per_pod = 6;
  CHECK(draw_network(plan, six).switches == Names{"leaf0", "leaf1", "leaf2", "pod0-spine0"});
}

TEST_CASE("network graph: scattered ranks have their neighbours under other leaves") {
  const std::vector<std::vector<Bandwidth>> five(5, {10_GBps});
  SwitchPlan plan{.kind = SwitchPlan::Kind::leaf_spine,
                  .nodes_per_leaf = 2,
                  .placement = SwitchPlan::Placement::scattered};
  const NetworkGraph leaves = draw_network(plan, five);
  CHECK(leaves.ports == Ports{{0}, {1}, {2}, {0}, {1}});
  for (const Trunk& trunk : leaves.trunks)
    CHECK(trunk.bandwidth.gigabytes_per_second() == doctest::Approx(20));
  // Neighbours are first in other pods, then under other leaves of a pod.
  plan.nodes_per_leaf = 1;
  plan.nodes_per_pod = 3;
  CHECK(draw_network(plan, five).ports == Ports{{0}, {3}, {1}, {4}, {2}});
  plan = {.kind = SwitchPlan::Kind::rail,
          .nodes_per_leaf = 3,
          .placement = SwitchPlan::Placement::scattered};
  CHECK(draw_network(plan, five).ports == Ports{{0}, {1}, {0}, {1}, {0}});
  plan = {.kind = SwitchPlan::Kind::stated, .placement = SwitchPlan::Placement::scattered};
  plan.switches = {{"a", 2}, {"b", 2}, {"spine", {}}};
  plan.leaf_of_host = {0, 0, 0, 1, 1};
  CHECK(draw_network(plan, five).ports == Ports{{0}, {1}, {0}, {1}, {0}});
}

TEST_CASE(
    "network graph: a stated trunk carries all ports below it, and empty switches have none") {
  // Nodes 0 and 1 are under leaf a, node 2 is under b, and both leaves are under the spine. c is
  // empty.
  SwitchPlan plan{.kind = SwitchPlan::Kind::stated, .oversubscription = 2};
  plan.switches = {{"a", 2}, {"b", 2}, {"spine", 4}, {"c", 2}, {"top", {}}};
  plan.leaf_of_host = {0, 0, 1};
  const NetworkGraph network = draw_network(plan, kRates);
  CHECK(network.switches == Names{"a", "b", "spine", "c", "top"});
  CHECK(network.ports == Ports{{0}, {0, 0}, {1}});
  REQUIRE(network.trunks.size() == 3);
  check_trunk(network.trunks[0], 0, 2, 15);
  check_trunk(network.trunks[1], 1, 2, 2.5);
  check_trunk(network.trunks[2], 2, 4, 17.5);
}

TEST_CASE("network graph: routes go up as far as needed, and the channel's number selects trunks") {
  SwitchPlan plan{.kind = SwitchPlan::Kind::leaf_spine, .nodes_per_leaf = 1, .spines = 2};
  const SwitchRoutes routes(draw_network(plan, kRates));
  // Leaf l reaches spine s by trunk 2 l + s.
  CHECK(routes.route(0, 0, 5).empty());
  CHECK(routes.route(0, 2, 0) == Arcs{2 * 0, 2 * 4 + 1});
  CHECK(routes.route(0, 2, 1) == Arcs{2 * 1, 2 * 5 + 1});
  CHECK(routes.route(2, 0, 3) == Arcs{2 * 5, 2 * 1 + 1});
  // From a switch in the middle of a stated tree, routes go only down, or up and down.
  SwitchPlan stated{.kind = SwitchPlan::Kind::stated};
  stated.switches = {{"a", 2}, {"b", 3}, {"left", 3}, {"top", {}}};
  stated.leaf_of_host = {0, 0, 1};
  const SwitchRoutes tree(draw_network(stated, kRates));
  CHECK(tree.route(0, 1, 0) == Arcs{0, 4, 3});
  CHECK(tree.route(1, 0, 0) == Arcs{2, 5, 1});
  CHECK(tree.route(3, 0, 0) == Arcs{5, 1});
}

TEST_CASE("shortest routes: fewer hops first, then the wider route, then the earlier one") {
  // Routes from 0 to 3: through 1, through 2, or through 4 and 5.
  const std::vector<Arc> arcs = {{0, 1, 5},  {1, 3, 5},  {0, 2, 9},  {2, 3, 6},
                                 {0, 4, 99}, {4, 5, 99}, {5, 3, 99}, {0, 1, 5}};
  CHECK(ShortestRoutes(arcs, std::vector<bool>(6, true)).route(0, 3) == Arcs{2, 3});
  // First vertex 2 is not passable, then only the ends are.
  CHECK(ShortestRoutes(arcs, {true, true, false, true, true, true}).route(0, 3) == Arcs{0, 1});
  CHECK(ShortestRoutes(arcs, {true, false, false, true, true, true}).route(0, 3) == Arcs{4, 5, 6});
  CHECK(ShortestRoutes(arcs, std::vector<bool>(6, false)).route(0, 3).empty());
  CHECK(ShortestRoutes(arcs, std::vector<bool>(6, false)).route(0, 1) == Arcs{0});
  CHECK(ShortestRoutes(arcs, std::vector<bool>(6, true)).route(3, 0).empty());
  CHECK(ShortestRoutes(arcs, std::vector<bool>(6, true)).route(3, 3).empty());
}

TEST_CASE("node paths: the widest path through another GPU, and PXN through a GPU near the NIC") {
  // 0 reaches 3 through 1 (20 and 10 GB/s), through 2 (15 and 15), or over PCIe. The NIC is next to
  // 1.
  NodeGraph graph;
  for (const char* name : {"gpu0", "gpu1", "gpu2", "gpu3"})
    graph.vertices.push_back({VertexKind::gpu, name, {}});
  graph.vertices.push_back({VertexKind::cpu, "cpu0", {}});
  graph.vertices.push_back({VertexKind::pcie_switch, "pcie0", {}});
  graph.vertices.push_back({VertexKind::nic, "nic0", 10_GBps});
  const auto join = [&](std::uint32_t a, std::uint32_t b, LinkKind kind, double rate) {
    const auto bandwidth = Bandwidth::gigabytes_per_second(rate);
    graph.wires.push_back({a, b, kind, 1, bandwidth, bandwidth});
  };
  join(0, 1, LinkKind::nvlink, 20);  // wire 0
  join(1, 3, LinkKind::nvlink, 10);
  join(0, 2, LinkKind::nvlink, 15);
  join(2, 3, LinkKind::nvlink, 15);
  join(0, 4, LinkKind::pcie, 12);  // wire 4
  join(1, 5, LinkKind::pcie, 12);
  join(2, 4, LinkKind::pcie, 12);
  join(3, 4, LinkKind::pcie, 12);
  join(5, 4, LinkKind::pcie, 12);  // wire 8
  join(6, 5, LinkKind::pcie, 12);
  const NodePaths paths(graph);
  REQUIRE(paths.between(0, 3) != nullptr);
  CHECK(paths.between(0, 3)->path == PathClass::nvb);
  CHECK(paths.between(0, 3)->arcs == Arcs{4, 6});
  CHECK(paths.between(0, 1)->path == PathClass::nvl);
  CHECK(paths.between(1, 0)->arcs == Arcs{1});
  CHECK(paths.to_nic(1, 0)->path == PathClass::pix);
  CHECK(paths.to_nic(0, 0)->path == PathClass::phb);
  CHECK(paths.over_host(0, 1)->path == PathClass::phb);
  // 0 passes data to 1. So does 3, whose other neighbour has no NIC. 2 is not joined to 1.
  CHECK(paths.arcs_to_nic(1, 0) == Arcs{10, 19});
  CHECK(paths.arcs_to_nic(0, 0) == Arcs{0, 10, 19});
  CHECK(paths.arcs_from_nic(0, 0) == Arcs{18, 11, 1});
  CHECK(paths.arcs_to_nic(3, 0) == Arcs{3, 10, 19});
  CHECK(paths.arcs_to_nic(2, 0) == Arcs{12, 17, 19});
}

TEST_CASE("switch list: names in brackets, comments, and switches above switches") {
  const SwitchPlan plan = parse_switch_list(
      "# a comment\n"
      "SwitchName=l1 Nodes=a,n[01-03,7] LinkSpeed=100 # of rack 1\n"
      "\n"
      "SwitchName=l2 Nodes=n[08-11]\n"
      "SwitchName=top Switches=l[1-2]\n",
      "topology.conf");
  CHECK(plan.hosts == Names{"a", "n01", "n02", "n03", "n7", "n08", "n09", "n10", "n11"});
  CHECK(plan.leaf_of_host == Arcs{0, 0, 0, 0, 0, 1, 1, 1, 1});
  REQUIRE(plan.switches.size() == 3);
  CHECK(plan.switches[0].name == "l1");
  CHECK(plan.switches[0].above == 2);
  CHECK(plan.switches[1].above == 2);
  CHECK(plan.switches[2].name == "top");
  CHECK_FALSE(plan.switches[2].above);
  // A plain list of several leaves gets a spine. A single leaf needs none.
  const SwitchPlan plain = parse_switch_list("h1 x\nh2 y\nh3 x", "racks.txt");
  CHECK(plain.leaf_of_host == Arcs{0, 1, 0});
  REQUIRE(plain.switches.size() == 3);
  CHECK(plain.switches[2].name == "spine");
  CHECK(plain.switches[0].above == 2);
  CHECK(plain.switches[1].above == 2);
  CHECK(parse_switch_list("h1 x\nh2 x\n", "racks.txt").switches.size() == 1);
}
