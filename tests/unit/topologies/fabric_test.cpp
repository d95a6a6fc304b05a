// Rings, trees and routes over every bundled cluster and shape.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "double_tree.hpp"

using namespace ddpsim;

namespace {

Fabric fabric_of(const std::string& text) {
  return build_fabric(ClusterRequest{text, {}, {}});
}

int depth(int tree, int node, int nodes) {
  int steps = 0;
  for (auto at = double_tree_place(tree, node, nodes).parent; at;
       at = double_tree_place(tree, *at, nodes).parent) {
    if (++steps > nodes) return steps;  // a cycle
  }
  return steps;
}

int children(int tree, int node, int nodes) {
  const TreePlace place = double_tree_place(tree, node, nodes);
  return (place.children[0] ? 1 : 0) + (place.children[1] ? 1 : 0);
}

/// Each link of a route begins where the last one ended. Names have the form "a > b".
void check_joined(const Fabric& fabric, Route route) {
  std::string at;
  for (const LinkId link : fabric.links_of(route)) {
    const std::string& name = fabric.links[link].name;
    const std::size_t arrow = name.find(" > ");
    REQUIRE(arrow != std::string::npos);
    if (!at.empty()) CHECK(name.substr(0, arrow) == at);
    at = name.substr(arrow + 3);
  }
}

void check_fabric(const Fabric& fabric, const Cluster& cluster) {
  const auto ranks = static_cast<std::size_t>(cluster.ranks());
  REQUIRE(fabric.rings.size() == 2 * static_cast<std::size_t>(cluster.ring.channels));
  REQUIRE(fabric.trees.size() == fabric.rings.size());
  for (const RingChannel& ring : fabric.rings) {
    REQUIRE(ring.ranks.size() == ranks);
    REQUIRE(ring.to_next.size() == ranks);
    CHECK(std::set(ring.ranks.begin(), ring.ranks.end()).size() == ranks);
    for (const Route route : ring.to_next) {
      CHECK((route.count > 0 || ranks == 1));
      check_joined(fabric, route);
    }
  }
  for (const TreeChannel& tree : fabric.trees) {
    std::size_t roots = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const bool root = tree.parent[rank] == rank;
      roots += root ? 1 : 0;
      CHECK((tree.up[rank].count > 0) == !root);
      CHECK(tree.up[rank].count == tree.down[rank].count);
      check_joined(fabric, tree.up[rank]);
      check_joined(fabric, tree.down[rank]);
      std::size_t steps = 0;
      for (std::uint32_t at = rank; tree.parent[at] != at && steps <= ranks; ++steps) {
        at = tree.parent[at];
      }
      CHECK(steps <= ranks);
    }
    CHECK(roots == 1);
  }
  for (const Link& link : fabric.links) CHECK(link.bandwidth > Bandwidth());
}

}  // namespace

TEST_CASE("double tree: valid for 1 to 64 nodes") {
  for (int nodes = 1; nodes <= 64; ++nodes) {
    CAPTURE(nodes);
    int log = 0;
    while ((1 << log) < nodes) ++log;
    int inner_twice = 0;
    for (int node = 0; node < nodes; ++node) {
      CAPTURE(node);
      for (const int tree : {0, 1}) {
        const TreePlace place = double_tree_place(tree, node, nodes);
        CHECK(depth(tree, node, nodes) <= log);
        if (place.parent) {  // parent and child agree
          const TreePlace above = double_tree_place(tree, *place.parent, nodes);
          CHECK((above.children[0] == node) != (above.children[1] == node));
        }
        for (const auto& child : place.children) {
          if (child) CHECK(double_tree_place(tree, *child, nodes).parent == node);
        }
      }
      inner_twice += children(0, node, nodes) > 0 && children(1, node, nodes) > 0 ? 1 : 0;
    }
    // A node that forwards in one tree is a leaf in the other. With an odd number of nodes, one
    // node is neither.
    CHECK(inner_twice == (nodes > 1 && nodes % 2 == 1 ? 1 : 0));
  }
}

TEST_CASE("double tree: eight nodes as in NCCL's comment") {
  const std::vector<int> first = {-1, 2, 4, 2, 0, 6, 4, 6};
  const std::vector<int> second = {1, 3, 1, 7, 5, 3, 5, -1};
  for (int node = 0; node < 8; ++node) {
    CHECK(double_tree_place(0, node, 8).parent.value_or(-1) ==
          first[static_cast<std::size_t>(node)]);
    CHECK(double_tree_place(1, node, 8).parent.value_or(-1) ==
          second[static_cast<std::size_t>(node)]);
  }
}

TEST_CASE("fabric: every bundled cluster has complete rings and trees, on one and several nodes") {
  for (const BundledCluster& bundled : bundled_clusters()) {
    CAPTURE(bundled.name);
    const Topology alone = load_topology({bundled.name, {}, {}});
    check_fabric(build_fabric(alone), alone.cluster);
    if (alone.cluster.network.kind == NetworkKind::none) continue;
    for (const int nodes : {2, 3}) {
      const Topology several = load_topology({bundled.name, nodes, {}});
      check_fabric(build_fabric(several), several.cluster);
    }
  }
}

TEST_CASE("fabric: channels use no link beyond NCCL's rate") {
  for (const BundledCluster& bundled : bundled_clusters()) {
    CAPTURE(bundled.name);
    for (int gpus = 2; gpus <= load_cluster({bundled.name, {}, {}}).gpus_per_host(); ++gpus) {
      CAPTURE(gpus);
      const Topology topology = load_topology({bundled.name, 1, gpus});
      const Fabric fabric = build_fabric(topology);
      std::vector<double> load(fabric.links.size(), 0);
      for (std::size_t c = 0; c < fabric.rings.size() / 2; ++c) {
        for (const Route route : fabric.rings[c].to_next) {
          for (const LinkId link : fabric.links_of(route)) {
            load[link] += topology.cluster.ring.intra.gigabytes_per_second();
          }
        }
      }
      for (std::size_t link = 0; link < load.size(); ++link) {
        CAPTURE(fabric.links[link].name);
        CHECK(load[link] <=
              topology.node_types.front().graph.wires[link / 2].nccl.gigabytes_per_second() + 1e-6);
      }
    }
  }
}

TEST_CASE("fabric: the second half of the channels repeats the rings and uses the other tree") {
  const Fabric fabric = fabric_of("dgxa100@4");
  REQUIRE(fabric.rings.size() == 16);
  CHECK(fabric.rings[0].ranks == fabric.rings[8].ranks);
  CHECK(fabric.trees[0].parent != fabric.trees[8].parent);
}

TEST_CASE("fabric: a rail keeps every channel on its own switch") {
  // Each channel of a DGX A100 enters and leaves by one NIC, so a ring never needs a spine.
  Topology topology = load_topology({"dgxa100@4", {}, {}});
  topology.switches.kind = SwitchPlan::Kind::rail;
  topology.switches.nodes_per_leaf = 4;
  const Fabric fabric = build_fabric(topology);
  for (const RingChannel& ring : fabric.rings) {
    for (const Route route : ring.to_next) {
      for (const LinkId link : fabric.links_of(route)) {
        CHECK(fabric.links[link].kind != LinkKind::network);
      }
    }
  }
}

TEST_CASE("fabric: data for a far NIC goes over NVLink to a GPU next to it") {
  // A tree's second GPU may be on the other CPU. NCCL then relays the data (PXN) instead of
  // crossing the sockets.
  for (const char* cluster : {"dgxh100@4", "alps-gh200@3"}) {
    const Fabric fabric = fabric_of(cluster);
    for (const TreeChannel& tree : fabric.trees) {
      for (const auto* routes : {&tree.up, &tree.down}) {
        for (const Route route : *routes) {
          for (const LinkId link : fabric.links_of(route)) {
            CHECK(fabric.links[link].kind != LinkKind::socket);
          }
        }
      }
    }
  }
}

TEST_CASE("fabric: channels spread over equal routes in the same way every time") {
  Topology topology = load_topology({"dgxa100@8", {}, {}});
  topology.switches = {.kind = SwitchPlan::Kind::leaf_spine,
                       .nodes_per_leaf = 2,
                       .spines = 4,
                       .oversubscription = 2};
  const Fabric fabric = build_fabric(topology);
  std::vector<int> passes(fabric.links.size(), 0);
  for (std::size_t c = 0; c < 8; ++c) {
    for (const Route route : fabric.rings[c].to_next) {
      for (const LinkId link : fabric.links_of(route)) ++passes[link];
    }
  }
  int used = 0;
  for (std::size_t i = 0; i < fabric.links.size(); ++i) {
    if (fabric.links[i].kind != LinkKind::network || passes[i] == 0) continue;
    ++used;
    CHECK(passes[i] == 2);  // 8 channels over 4 spines
    // Two nodes of 8 x 25 GB/s are below each leaf, halved by oversubscription, over four spines.
    CHECK(fabric.links[i].bandwidth.gigabytes_per_second() == doctest::Approx(50));
  }
  CHECK(used == 4 * 4 * 2);
  const Fabric again = build_fabric(topology);
  CHECK(again.route_links == fabric.route_links);
}

TEST_CASE("fabric: a degraded link is found by name, in one or both directions") {
  Topology topology = load_topology({"dgx1v", {}, {}});
  topology.degraded = {{"node0/gpu0 - node0/gpu3", Bandwidth::gigabytes_per_second(25)},
                       {"node0/gpu1 > node0/gpu2", Bandwidth::gigabytes_per_second(10)}};
  const Fabric fabric = build_fabric(topology);
  for (const Link& link : fabric.links) {
    const double rate = link.bandwidth.gigabytes_per_second();
    if (link.name == "node0/gpu0 > node0/gpu3") CHECK(rate == doctest::Approx(25));
    if (link.name == "node0/gpu3 > node0/gpu0") CHECK(rate == doctest::Approx(25));
    if (link.name == "node0/gpu1 > node0/gpu2") CHECK(rate == doctest::Approx(10));
    if (link.name == "node0/gpu2 > node0/gpu1") CHECK(rate == doctest::Approx(50));
  }
  topology.degraded = {{"node0/gpu0 > node0/gpu9", Bandwidth::gigabytes_per_second(25)}};
  CHECK_THROWS_AS(build_fabric(topology), InputError);
}

TEST_CASE("fabric: the largest fabric, with a leaf per node, is built quickly") {
  Topology topology = load_topology({"node:16384 gpu:4xA100 pcie:31.5GBps nic:1x100Gbps", {}, {}});
  topology.switches.kind = SwitchPlan::Kind::leaf_spine;
  topology.switches.spines = 2;
  const Fabric fabric = build_fabric(topology);
  CHECK(fabric.rings.front().ranks.size() == 65'536);
}

TEST_CASE("fabric: a million GPUs are refused with a message") {
  try {
    build_fabric(ClusterRequest{"dgxa100@125000", {}, {}});
    FAIL("a fabric of a million GPUs was laid out");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()) ==
          "dgxa100: 1000000 ranks are too many to lay out link by link. At most 65536; --network "
          "analytic has no such limit");
  }
}
