// Load of a cluster's channels on its wires. Every collective respects their limits, in the cost
// model and in the flow network.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collective_words.hpp"
#include "complaint.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/link_loads.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/topology.hpp"
#include "flow_planner.hpp"
#include "random_clusters.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Topology topology_of(const std::string& text) {
  return load_topology({.text = text, .nodes = {}, .gpus_per_node = {}});
}

Bandwidth bound(const std::string& text, ChannelShape shape = ChannelShape::ring) {
  return most_busbw(shape, topology_of(text).cluster);
}

double busbw_of(const CollectiveChoice& choice, Bytes size, const Cluster& cluster) {
  return busbw_gbps(size, cost(CollectiveKind::all_reduce, choice, size, cluster), cluster.ranks());
}

/// Bus bandwidth of NCCL's choice for a gibibyte, with rings only.
double ring_busbw(const std::string& text) {
  const Cluster cluster = topology_of(text).cluster;
  const CollectiveTuning rings{.algorithms = Algorithm::ring, .protocols = Protocol::simple};
  const Bytes size = 1024_MiB;
  return busbw_of(select_algorithm(CollectiveKind::all_reduce, size, cluster, rings), size,
                  cluster);
}

const std::string kA100 = "gpu:8xA100 nvswitch:300GBps ";

}  // namespace

TEST_CASE("link loads: a PCIe slot limits a faster NIC") {
  // An A100's slot has 31.5 GB/s, of which packets leave 0.85. The NIC alone would carry 0.94 of
  // 100.
  CHECK(bound("node:2 " + kA100 + "nic:1x800Gbps:ib").gigabytes_per_second() ==
        doctest::Approx(31.5));
  CHECK(ring_busbw("node:2 " + kA100 + "nic:1x800Gbps:ib") ==
        doctest::Approx(0.85 * 31.5).epsilon(0.01));
  CHECK(ring_busbw("node:2 " + kA100 + "nic:1x200Gbps:ib") ==
        doctest::Approx(0.94 * 25).epsilon(0.01));
  const std::string v100 = "node:2 gpu:8xV100 nvlink:6x25GBps:cube nic:4x200Gbps:ib";
  CHECK(bound(v100).gigabytes_per_second() == doctest::Approx(63));
  CHECK(ring_busbw(v100) == doctest::Approx(0.85 * 63).epsilon(0.01));
}

TEST_CASE("link loads: traffic within a leaf is not oversubscribed") {
  const std::string four = "node:4 " + kA100 + "nic:8x200Gbps:ib";
  CHECK(bound(four).gigabytes_per_second() == doctest::Approx(200));
  const auto narrow = [&](const std::string& leaf) {
    return bound(four + " oversubscription:4" + leaf);
  };
  CHECK(narrow("").gigabytes_per_second() == doctest::Approx(50));
  CHECK(narrow(" leaf:1").gigabytes_per_second() == doctest::Approx(50));
  // Two nodes share the uplinks, and one ring leaves a leaf instead of two leaving two nodes.
  CHECK(narrow(" leaf:2").gigabytes_per_second() == doctest::Approx(100));
  CHECK(narrow(" leaf:4").gigabytes_per_second() == doctest::Approx(200));
  // The last leaf has one node, but its uplinks are as wide as the others.
  CHECK(narrow(" leaf:3").gigabytes_per_second() == doctest::Approx(150));
  CHECK(ring_busbw(four + " oversubscription:4") == doctest::Approx(0.94 * 50).epsilon(0.01));
  CHECK(ring_busbw(four + " oversubscription:4 leaf:4") == doctest::Approx(ring_busbw(four)));
}

TEST_CASE("link loads: if leaves are not stated, the interval reaches to one leaf for all") {
  const std::string four = "node:4 " + kA100 + "nic:8x200Gbps:ib";
  const auto low = [](const std::string& text) {
    return all_reduce_table(topology_of(text).cluster, {}, std::vector{1024_MiB}).rows.front();
  };
  const AllReduceRow open = low(four + " oversubscription:4");
  const AllReduceRow stated = low(four + " oversubscription:4 leaf:1");
  const AllReduceRow together = low(four + " oversubscription:4 leaf:4");
  CHECK(open.time == stated.time);
  CHECK(open.high == stated.high);
  CHECK(open.low < stated.low);
  CHECK(open.low < together.time);
  CHECK(topology_of(four + " oversubscription:4").cluster.loads_under_one_leaf != nullptr);
  CHECK(topology_of(four + " oversubscription:4 leaf:1").cluster.loads_under_one_leaf == nullptr);
  CHECK(topology_of(four).cluster.loads_under_one_leaf == nullptr);
}

TEST_CASE("link loads: a degraded link also limits the cost model") {
  Topology slow = topology_of("dgxa100@2");
  const double sound = most_busbw(ChannelShape::ring, slow.cluster).gigabytes_per_second();
  slow.degraded = {{"node0/nic0 > switch", 6.25_GBps}};
  const LinkLoads loads = link_loads(build_fabric(slow), 8);
  slow.cluster.loads = std::make_shared<const LinkLoads>(loads);
  CHECK(sound == doctest::Approx(200));
  // An eighth of the traffic passes at a quarter of the rate.
  CHECK(most_busbw(ChannelShape::ring, slow.cluster).gigabytes_per_second() == doctest::Approx(50));
}

TEST_CASE("link loads: rings are limited by the bottleneck with any number of channels") {
  for (const int gpus : {1, 2, 3, 4, 5, 6, 8}) {
    CAPTURE(gpus);
    const Topology part = load_topology({.text = "dgxh100", .nodes = 2, .gpus_per_node = gpus});
    CHECK(
        most_busbw(ChannelShape::ring, part.cluster).gigabytes_per_second() ==
        doctest::Approx(find_bottleneck(build_fabric(part))->bus_bandwidth.gigabytes_per_second()));
  }
}

TEST_CASE("link loads: one GPU on each of two nodes uses one NIC") {
  const Topology part = load_topology({.text = "dgxh100", .nodes = 2, .gpus_per_node = 1});
  CHECK(most_busbw(ChannelShape::ring, part.cluster).gigabytes_per_second() == doctest::Approx(50));
  const CollectiveTuning tuning;
  for (const Bytes size : {64_MiB, 1024_MiB}) {
    const auto choice = select_algorithm(CollectiveKind::all_reduce, size, part.cluster, tuning);
    CHECK(busbw_of(choice, size, part.cluster) <= 50);
  }
}

TEST_CASE("link loads: a tree over two nodes may reach twice a ring's bus bandwidth") {
  const std::string two = "node:2 gpu:2xH100 nvswitch:450GBps nic:2x400Gbps:ib";
  CHECK(bound(two).gigabytes_per_second() == doctest::Approx(100));
  CHECK(bound(two, ChannelShape::tree).gigabytes_per_second() == doctest::Approx(150));
}

TEST_CASE("link loads: more nodes on one switch load their links like the first four") {
  for (const char* node :
       {"gpu:8xA100 nvswitch:300GBps nic:4x200Gbps:ib", "gpu:1xA100 pcie:25GBps nic:1x100Gbps:tcp",
        "gpu:8xV100 nvlink:6x25GBps:cube nic:4x100Gbps:ib",
        "gpu:4xA100 pcie:25GBps nic:2x100Gbps:efa"})
    for (const int nodes : {5, 6, 7, 33, 64, 77}) {
      const Topology topology = topology_of(fmt::format("node:{} {}", nodes, node));
      const Cluster& cluster = topology.cluster;
      const LinkLoads all = link_loads(build_fabric(topology), cluster.gpus_per_node);
      for (const ChannelShape shape : {ChannelShape::ring, ChannelShape::tree})
        for (int channels = 1; channels <= kMostChannels; ++channels) {
          CHECK(cluster.loads->of(shape, channels).local == all.of(shape, channels).local);
          CHECK(cluster.loads->of(shape, channels).network == all.of(shape, channels).network);
        }
    }
}

TEST_CASE("link loads: with leaves every node counts, because tree edges depend on node numbers") {
  for (const int nodes : {33, 36, 37, 65, 100})
    for (const int leaf : {2, 4, 8}) {
      CAPTURE(nodes);
      CAPTURE(leaf);
      const ClusterRequest request{
          .text = fmt::format("node:{} {}nic:8x200Gbps:ib oversubscription:4 leaf:{}", nodes, kA100,
                              leaf),
          .nodes = {},
          .gpus_per_node = {}};
      const Cluster cluster = load_cluster(request);
      FlowPlanner planner(std::make_shared<const Cluster>(cluster),
                          std::make_shared<const Fabric>(build_fabric(request)), {});
      const CollectiveChoice choice{
          .algorithm = Algorithm::tree, .protocol = Protocol::simple, .channels = 16};
      const Duration time = cost(CollectiveKind::all_reduce, choice, 64_MiB, cluster);
      CHECK(std::abs(planner.alone(CollectiveKind::all_reduce, choice, 64_MiB) / time - 1) < 1e-3);
    }
}

TEST_CASE("link loads: NVLS between nodes is not faster than the trunks of its trees") {
  for (const std::string text :
       {"dgxh100@64 oversubscription:8 leaf:8", "dgxh100@16 oversubscription:4 leaf:4",
        "dgxh100@32 oversubscription:4 leaf:8"}) {
    const Cluster cluster = topology_of(text).cluster;
    const Bytes size = 256_MiB;
    const auto choice = select_algorithm(CollectiveKind::all_reduce, size, cluster, {});
    CAPTURE(text);
    REQUIRE(choice.algorithm == Algorithm::nvls_tree);
    const double busy = cluster.loads->of(ChannelShape::tree, choice.channels)
                            .network[static_cast<std::size_t>(LinkKind::network)];
    REQUIRE(busy > 0);
    CHECK(cost(CollectiveKind::all_reduce, choice, size, cluster).seconds() >=
          static_cast<double>(size.count()) * busy);
  }
}

TEST_CASE("link loads: too many nodes are thinned out, unless one link is degraded") {
  const auto narrow = [](int nodes) {
    return bound(
               fmt::format("node:{} {}nic:8x200Gbps:ib oversubscription:40 leaf:10", nodes, kA100))
        .gigabytes_per_second();
  };
  CHECK(narrow(9000) == doctest::Approx(narrow(100)));
  const std::string file = R"({"schema": "ddpsim.cluster/1", "name": "wide", "nodes": 9000,
    "node": {"gpus": 8, "gpu": "A100", "interconnect": {"kind": "nvswitch", "per_gpu": "300GBps"}},
    "network": {"kind": "ib", "nics_per_node": 8, "per_nic": "200Gbps"},
    "degraded": [{"link": "node0/nic0 > switch", "rate": "50Gbps"}]})";
  CHECK(complaint_of([&] { parse_cluster(file, "wide.json"); }) ==
        "wide:/degraded: 72000 ranks are too many to find a link among theirs. At most 65536 where "
        "links are degraded");
}

namespace {

/// A cluster as a buyer might describe it. Any value may be the bottleneck.
std::string random_cluster(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random() % words.size()]);
  };
  const std::string gpu =
      pick({"1xA100 pcie:25GBps", "2xV100 nvlink:6x25GBps:pair", "4xA100 nvswitch:300GBps",
            "8xA100 nvswitch:300GBps", "8xH100 nvswitch:450GBps", "8xV100 nvlink:6x25GBps:cube",
            "4xA100 pcie:25GBps", "8xV100 pcie:12GBps", "4xH100 nvlink:18x25GBps:mesh",
            "4xRTX4090 pcie:31.5GBps:no-p2p root:2", "8xRTX5090 pcie:63GBps",
            "8xA40 pcie:31.5GBps root:4"});
  std::string text = fmt::format("node:{} gpu:{} nic:{}x{}Gbps:{}", 1 + random() % 6, gpu,
                                 1 << random() % 4, pick({"10", "25", "100", "200", "400", "800"}),
                                 pick({"ib", "roce", "tcp", "efa", "slingshot"}));
  if (random() % 2) text += fmt::format(" oversubscription:{}", 1 + random() % 4);
  if (random() % 2) text += fmt::format(" leaf:{}", 1 + random() % 4);
  return text;
}

/// NVLink domains of one to three nodes, and networks of several tiers.
std::string random_racks(std::mt19937_64& random) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random() % words.size()]);
  };
  const auto each = 1 + random() % 2;
  const std::string gpu = pick({"1xGH200 nvswitch:450GBps", "2xGB200 nvswitch:900GBps",
                                "4xGB200 nvswitch:900GBps", "3xH100 nvswitch:450GBps"});
  return fmt::format(
      "node:{} domain:{} gpu:{} nic:{}x{}Gbps {} oversubscription:{}", each * (1 + random() % 4),
      each, gpu, 1 + random() % 4, pick({"25", "2x200", "400", "800"}),
      pick({"leaf:1", "leaf:2", "rail:4 placement:scattered", "rail:3",
            "leaf:4 placement:scattered", "leaf:2 pod:4", "leaf:2 pod:6 placement:scattered"}),
      1 + random() % 4);
}

/// Degrades one link to a part of its rate.
void degrade(Topology& topology, std::mt19937_64& random) {
  const Fabric fabric = build_fabric(topology);
  const Link& link = fabric.links[random() % fabric.links.size()];
  topology.degraded = {{link.name, link.bandwidth / static_cast<double>(1 + random() % 8)}};
}

/// For a pair, all channels use the route of one ring.
double most_gbps(CollectiveKind kind, Algorithm algorithm, const Cluster& cluster, int channels) {
  return most_busbw(algorithm == Algorithm::ring ? ChannelShape::ring : ChannelShape::tree, cluster,
                    kind == kSendRecv ? 1 : channels)
      .gigabytes_per_second();
}

}  // namespace

TEST_CASE("link loads: in random clusters, cost model and flow network respect the wires") {
  std::mt19937_64 random(1);
  double apart = 0;
  std::string farthest;
  for (int i = 0; i < random_clusters(150); ++i) {
    const std::string text = i % 4 == 3 ? random_racks(random) : random_cluster(random);
    CAPTURE(text);
    Topology topology = topology_of(text);
    Cluster& cluster = topology.cluster;
    if (cluster.ranks() == 1) continue;
    const Cluster sound = cluster;
    if (random() % 3 == 0) degrade(topology, random);
    const Fabric fabric = build_fabric(topology);
    cluster.loads = std::make_shared<const LinkLoads>(link_loads(fabric, cluster.gpus_per_node));
    FlowPlanner planner(std::make_shared<const Cluster>(cluster),
                        std::make_shared<const Fabric>(fabric), {});
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree})
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
        const auto known = static_cast<int>(fabric.rings.size());
        for (const int channels : {1 + static_cast<int>(random() % fabric.rings.size()), known}) {
          const CollectiveChoice choice{
              .algorithm = algorithm, .protocol = protocol, .channels = channels};
          CAPTURE(name_of(algorithm));
          CAPTURE(name_of(protocol));
          CAPTURE(channels);
          for (const CollectiveKind kind : kAllKinds) {
            if (algorithm == Algorithm::tree && kind != kAllReduce) continue;
            CAPTURE(name_of(kind));
            const double most = most_gbps(kind, algorithm, cluster, channels);
            Duration before;
            for (const Bytes size : {64_KiB, 1_MiB, 25_MiB, 256_MiB}) {
              const Duration time = cost(kind, choice, size, cluster);
              CHECK(time >= before);
              CHECK(time >= cost(kind, choice, size, sound));
              CHECK(busbw_gbps(size, time, cluster.ranks(), kind) <= most * (1 + 1e-9));
              const Duration flow = planner.alone(kind, choice, size);
              const double error = std::abs(flow / time - 1);
              if (error > apart) {
                apart = error;
                farthest =
                    fmt::format("{}: {} {} {} x{} {} B", text, name_of(kind), name_of(algorithm),
                                name_of(protocol), channels, size.count());
              }
              before = time;
            }
          }
        }
      }
  }
  MESSAGE("flow and cost model at most " << 100 * apart << " % apart: " << farthest);
  CHECK(apart < 1e-3);
}

TEST_CASE("link loads: no interval exceeds the limit of the wires") {
  for (const char* cluster : {"p4d@4", "p4d@64", "a3-mega:spec@8", "dgxa100:spec@2"}) {
    CAPTURE(cluster);
    const Cluster loaded = load_cluster({.text = cluster, .nodes = {}, .gpus_per_node = {}});
    const std::vector<Bytes> sizes{1024_MiB};
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) {
      const CollectiveTuning tuning{.nccl = {2, 18, 3}, .algorithms = algorithm};
      const AllReduceRow row = all_reduce_table(loaded, tuning, sizes).rows.front();
      const ChannelShape shape =
          algorithm == Algorithm::tree ? ChannelShape::tree : ChannelShape::ring;
      const double most = most_busbw(shape, loaded, row.choice.channels).gigabytes_per_second();
      CHECK(row.low <= row.time);
      CHECK(busbw_gbps(sizes.front(), row.low, loaded.ranks()) <= most * (1 + 1e-6));
    }
  }
}
