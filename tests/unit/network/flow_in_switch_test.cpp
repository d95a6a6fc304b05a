// NVLS and NVLSTree in the flow network: alone they match the cost model, and with other traffic on
// their links they are slower.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective_words.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "flow_planner.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

struct LaidOut {
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Fabric> fabric;

  explicit LaidOut(const std::string& line) {
    const Topology topology = load_topology({.text = line, .nodes = {}, .gpus_per_node = {}});
    cluster = std::make_shared<const Cluster>(topology.cluster);
    fabric = std::make_shared<const Fabric>(build_fabric(topology));
  }
  CollectiveChoice choice() const {
    return {.algorithm = cluster->nodes == 1 ? Algorithm::nvls : Algorithm::nvls_tree,
            .channels = cluster->nvls_channels,
            .nccl = {2, 27, 7}};
  }
  LinkId link(const std::string& name) const {
    const auto found = std::ranges::find(fabric->links, name, &Link::name);
    REQUIRE(found != fabric->links.end());
    return static_cast<LinkId>(found - fabric->links.begin());
  }
};

/// Factor by which an all-reduce of 64 MiB is slower with eight transfers of 1 GB over this link.
double slowdown(const LaidOut& laid_out, const std::string& link) {
  Background background;
  for (int i = 0; i < 8; ++i)
    background.transfers.push_back(
        {.links = {laid_out.link(link)}, .size = Bytes(1'000'000'000), .when = {}});
  FlowPlanner planner(laid_out.cluster, laid_out.fabric, background);
  const CollectiveChoice choice = laid_out.choice();
  const Bytes size = 64_MiB;
  std::vector<NetworkJob> jobs{
      {.pipelines = {planner.pipeline(kAllReduce, choice, size)}, .recurrence = {}}};
  jobs.insert(jobs.end(), planner.background().begin(), planner.background().end());
  FlowNetwork network(planner.links(), jobs);
  network.start(0, 0, TimePoint());
  return network.run(0).since_start() / planner.alone(kAllReduce, choice, size);
}

}  // namespace

TEST_CASE("flow in the switch: alone it takes as long as the cost model says") {
  for (const std::string line : {
           "node:1 gpu:8xH100 nvswitch:450GBps",
           "node:1 gpu:72xB200 nvswitch:900GBps",
           "node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib",
           "node:5 gpu:8xH200 nvswitch:450GBps nic:4x400Gbps:ib",
           "node:3 gpu:4xB200 nvswitch:900GBps nic:8x400Gbps:ib",
           "node:8 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib oversubscription:2 leaf:2",
       }) {
    CAPTURE(line);
    const LaidOut laid_out(line);
    FlowPlanner planner(laid_out.cluster, laid_out.fabric, {});
    REQUIRE(planner.has_channels(kAllReduce, laid_out.choice()));
    for (const Bytes size : {Bytes(4099), 1_MiB, 25_MiB, 1024_MiB}) {
      CAPTURE(size.count());
      const Duration expected = cost(kAllReduce, laid_out.choice(), size, *laid_out.cluster);
      const Duration alone = planner.alone(kAllReduce, laid_out.choice(), size);
      CHECK(alone / expected == doctest::Approx(1).epsilon(1e-6));
    }
  }
}

TEST_CASE("flow in the switch: traffic on a NIC, or on a GPU's NVLink, slows it") {
  const LaidOut two("node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib");
  CHECK(slowdown(two, "node0/nic3 > switch") > 1.3);
  CHECK(slowdown(two, "switch > node1/nic0") > 1.3);
  const LaidOut one("node:1 gpu:8xH100 nvswitch:450GBps");
  CHECK(slowdown(one, "node0/gpu5 > node0/nvswitch0") > 1.3);
  // In one node, nothing of it passes a GPU's slot.
  CHECK(slowdown(one, "node0/gpu5 > node0/pcie2") == doctest::Approx(1).epsilon(1e-9));
}

TEST_CASE(
    "flow in the switch: heads, and the other collectives of NVLS, which use the cost model") {
  const LaidOut rack("node:1 gpu:72xB200 nvswitch:900GBps");
  CHECK(rack.fabric->switched.size() == 32);
  CHECK(rack.fabric->to_switch.size() == 72);
  const LaidOut two("node:2 gpu:8xH100 nvswitch:450GBps nic:4x400Gbps:ib");
  CHECK(two.fabric->switched.size() == 8);  // four heads on two trees
  CHECK(two.fabric->switched[0].heads == std::vector<std::uint32_t>{0, 8});
  CHECK(two.fabric->switched[2].heads == std::vector<std::uint32_t>{2, 10});
  FlowPlanner planner(two.cluster, two.fabric, {});
  CHECK_FALSE(planner.has_channels(CollectiveKind::all_gather, {.algorithm = Algorithm::nvls}));
  CHECK_FALSE(planner.has_channels(kAllReduce, {.algorithm = Algorithm::nvls}));
  CHECK_FALSE(planner.has_channels(kAllReduce, {.algorithm = Algorithm::collnet_direct}));
}

TEST_CASE("flow in the switch: no scenario takes less time than the links need") {
  // A head's link carries S, and an eighth more for its own. A NIC carries half of S up and down
  // for each of four edges, divided by eight.
  const auto least = [](const std::string& line) {
    const LaidOut laid_out(line);
    return least_time(kAllReduce, laid_out.choice(), Bytes(450'000'000), *laid_out.cluster)
        .microseconds();
  };
  CHECK(least("node:1 gpu:8xH100 nvswitch:450GBps") == doctest::Approx(1125));
  CHECK(least("node:4 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib") == doctest::Approx(2250));
}
