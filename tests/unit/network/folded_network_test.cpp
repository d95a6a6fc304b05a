// What is alike in a cluster, and what is not.
#include "folded_network.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/topologies/topology.hpp"
#include "steady_state.hpp"

using namespace ddpsim;

namespace {

struct Folded {
  Fabric fabric;
  NetworkLinks links;
  PipelineShape shape;
  FoldedNetwork network;

  explicit Folded(const std::string& line, const std::string& degraded = {}, bool tree = false) {
    fabric = build_fabric(ClusterRequest{.text = line});
    links.route_links = fabric.route_links;
    for (const Link& link : fabric.links) {
      const double share = link.name == degraded ? 0.5 : 1;
      links.capacities.push_back(
          static_cast<std::int64_t>(link.bandwidth.bytes_per_second() * share));
      links.latencies.push_back(link.latency);
    }
    const auto channels = static_cast<int>(fabric.rings.size());
    shape = tree ? tree_all_reduce_shape(fabric, channels, 8)
                 : ring_all_reduce_shape(fabric, channels, 8);
    const PipelineShape* const shapes[]{&shape};
    network = fold(shapes, links);
  }
  std::size_t hops() const { return network.shapes[0].hops.size(); }
  Duration alone(const PipelineShape& of, const NetworkLinks& on) const {
    return *uncontended_duration({.shape = &of,
                                  .chunks = 100,
                                  .ceiling = 1'000'000'000,
                                  .chunk_time = Duration::microseconds(5),
                                  .local_latency = Duration::microseconds(1),
                                  .network_latency = Duration::microseconds(7)},
                                 on);
  }
};

}  // namespace

TEST_CASE("folded network: in a ring, nodes are alike, however many there are") {
  const std::string node = " gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib";
  const Folded small("node:4" + node);
  const Folded large("node:32" + node);
  CHECK(small.hops() <= small.shape.hops.size() / 4);
  CHECK(large.hops() == small.hops());
  CHECK(large.alone(large.network.shapes[0], large.network.links) ==
        large.alone(large.shape, large.links));
}

TEST_CASE("folded network: a degraded link leaves no two nodes of its channel alike") {
  const std::string line = "node:8 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib";
  const Folded sound(line);
  const Folded degraded(line, "node2/nic3 > switch");
  CHECK(degraded.hops() > 4 * sound.hops());
  CHECK(degraded.alone(degraded.network.shapes[0], degraded.network.links) ==
        degraded.alone(degraded.shape, degraded.links));
}

TEST_CASE("folded network: each hop comes after those it waits for, and links are as full") {
  const Folded tree("node:6 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib", {}, true);
  const PipelineShape& shape = tree.network.shapes[0];
  CHECK(shape.hops.size() < tree.shape.hops.size());
  for (std::uint32_t hop = 0; hop < shape.hops.size(); ++hop)
    for (const std::uint32_t before : shape.list(shape.hops[hop].waits_for)) CHECK(before < hop);
  const auto busiest = [](const PipelineShape& of, const NetworkLinks& on) {
    const ChunkPipeline pipeline{.shape = &of, .chunks = 1, .ceiling = 1000};
    std::vector<std::int64_t> reserved(on.capacities.size());
    reserve_links(pipeline, hop_timings(pipeline, on), on, reserved);
    return *std::ranges::max_element(reserved);
  };
  CHECK(busiest(shape, tree.network.links) == busiest(tree.shape, tree.links));
  CHECK(tree.alone(shape, tree.network.links) == tree.alone(tree.shape, tree.links));
}
