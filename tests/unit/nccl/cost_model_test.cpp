#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "collective_words.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Cluster cost_machine(int nodes, int gpus, int capability = 80) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus_per_node = gpus;
  cluster.gpu.compute_capability = capability;
  cluster.intra.kind = gpus > 1 ? IntraKind::nvswitch : IntraKind::none;
  cluster.intra.per_gpu = 300_GBps;
  cluster.network.kind = nodes > 1 ? NetworkKind::infiniband : NetworkKind::none;
  cluster.network.nics_per_node = nodes > 1 ? 4 : 0;
  cluster.network.per_nic = 25_GBps;
  cluster.ring = cluster.tree = {12, 20_GBps, 20_GBps, PathKind::nvlink};
  cluster.nvls = {gpus, 20_GBps, 20_GBps, PathKind::nvlink};
  cluster.nvls_channels = 16;
  return cluster;
}

std::vector<CollectiveChoice> every_choice(int channels = 24) {
  std::vector<CollectiveChoice> choices;
  for (const Algorithm algorithm :
       {Algorithm::tree, Algorithm::ring, Algorithm::collnet_direct, Algorithm::collnet_chain,
        Algorithm::nvls, Algorithm::nvls_tree}) {
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      choices.push_back({algorithm, protocol, channels, Duration()});
    }
  }
  return choices;
}

std::vector<Cluster> machines() {
  return {cost_machine(1, 2),     cost_machine(1, 3),  cost_machine(1, 8, 70),
          cost_machine(1, 8, 90), cost_machine(2, 1),  cost_machine(2, 8),
          cost_machine(3, 7),     cost_machine(13, 2), cost_machine(540, 4),
          cost_machine(64, 8, 90)};
}

}  // namespace

TEST_CASE("pipeline cost model: one rank takes no time") {
  for (const CollectiveChoice& choice : every_choice(1)) {
    CHECK(cost(kAllReduce, choice, 1024_MiB, cost_machine(1, 1)) == Duration());
    CHECK(cost(kBroadcast, choice, 1024_MiB, cost_machine(1, 1)) == Duration());
  }
}

TEST_CASE("pipeline cost model: zero bytes still take a launch, and never less than nothing") {
  for (const Cluster& cluster : machines()) {
    for (const CollectiveChoice& choice : every_choice()) {
      CHECK(cost(kAllReduce, choice, 0_B, cluster) > Duration());
      CHECK(cost(kAllReduce, choice, 0_B, cluster) < Duration::seconds(1));
    }
  }
}

TEST_CASE("pipeline cost model: for a given choice a larger size is never faster") {
  for (const Cluster& cluster : machines()) {
    for (const CollectiveChoice& choice : every_choice()) {
      for (const CollectiveKind kind : {kAllReduce, kBroadcast}) {
        Duration before;
        // Steps of a ninth reach the limits of chunks and loops from both sides.
        for (std::int64_t size = 0; size < std::int64_t{1} << 36; size += size / 9 + 1) {
          const Duration now = cost(kind, choice, Bytes(size), cluster);
          REQUIRE(now >= before);
          before = now;
        }
      }
    }
  }
}

TEST_CASE("pipeline cost model: more bandwidth and less latency are never slower") {
  for (const Cluster& cluster : machines()) {
    Cluster wide = cluster;
    wide.intra.per_gpu = cluster.intra.per_gpu * 2;
    Cluster nics = cluster;
    nics.network.per_nic = cluster.network.per_nic * 2;
    Cluster slow_wire = cluster;
    slow_wire.network.latency = 50_us;
    Cluster narrow = cluster;
    LinkLoads loads;
    LinkLoad trunk;
    trunk.network[static_cast<std::size_t>(LinkKind::network)] = 1 / 1e9;
    loads.by_channels.fill({trunk});
    narrow.loads = std::make_shared<const LinkLoads>(loads);
    for (const CollectiveChoice& choice : every_choice()) {
      for (const Bytes size : {0_B, 1_B, 4_KiB, 1_MiB, 25_MiB, 1024_MiB}) {
        const Duration now = cost(kAllReduce, choice, size, cluster);
        CHECK(cost(kAllReduce, choice, size, wide) <= now);
        CHECK(cost(kAllReduce, choice, size, nics) <= now);
        CHECK(cost(kAllReduce, choice, size, slow_wire) >= now);
        CHECK(cost(kAllReduce, choice, size, narrow) >= now);
      }
    }
  }
}

TEST_CASE(
    "pipeline cost model: large rings approach 2(n-1)/n S/B and never beat the nominal link") {
  const CollectiveChoice ring{Algorithm::ring, Protocol::simple, 24, Duration()};
  for (const int gpus : {2, 3, 7, 8, 13}) {
    const Bytes size = 16384_MiB;
    const Duration took = cost(kAllReduce, ring, size, cost_machine(1, gpus));
    const double traffic = 2.0 * (gpus - 1) / gpus * static_cast<double>(size.count());
    const double share = traffic / took.seconds() / 300e9;
    CHECK(share > 0.70);
    CHECK(share < 0.79);
  }
}

TEST_CASE("pipeline cost model: between two nodes a tree carries half as much as a ring") {
  const CollectiveChoice ring{Algorithm::ring, Protocol::simple, 16, Duration()};
  const CollectiveChoice tree{Algorithm::tree, Protocol::simple, 16, Duration()};
  const auto ratio = [&](int nodes, int gpus) {
    const Cluster cluster = cost_machine(nodes, gpus);
    return cost(kAllReduce, ring, 16384_MiB, cluster) / cost(kAllReduce, tree, 16384_MiB, cluster);
  };
  // The rate is a ring's if every GPU has its NIC. Four NICs for eight GPUs, and forks, take
  // longer.
  CHECK(ratio(2, 4) == doctest::Approx(2.0 * 7 / 8).epsilon(0.03));
  CHECK(ratio(2, 8) == doctest::Approx(0.55 * 2.0 * 15 / 16).epsilon(0.03));
  CHECK(ratio(64, 8) == doctest::Approx(0.7).epsilon(0.1));
}

TEST_CASE(
    "pipeline cost model: a switch that reduces beats a ring, and no link carries more than its "
    "rate") {
  Cluster node = cost_machine(1, 8, 90);
  node.intra.per_gpu = 450_GBps;
  const CollectiveChoice ring{Algorithm::ring, Protocol::simple, 24};
  const CollectiveChoice nvls{Algorithm::nvls, Protocol::simple, 16};
  const Bytes size = 16384_MiB;
  const Duration reduced = cost(kAllReduce, nvls, size, node);
  CHECK(reduced < cost(kAllReduce, ring, size, node));
  const double carried = (1 + 1.0 / 8) * static_cast<double>(size.count()) / reduced.seconds();
  CHECK(carried < 450e9);
  CHECK(carried > 0.65 * 450e9);
}

TEST_CASE("pipeline cost model: between two nodes the slower of switch and NICs limits NVLSTree") {
  Cluster two = cost_machine(2, 8, 90);
  two.intra.per_gpu = 450_GBps;
  const CollectiveChoice tree{Algorithm::nvls_tree, Protocol::simple, 16};
  const Bytes size = 16384_MiB;
  const auto algbw = [&] {
    return static_cast<double>(size.count()) / cost(kAllReduce, tree, size, two).seconds() / 1e9;
  };
  // Every wave of 16 channels x 8 heads x 64 KiB waits 2.3 us in addition to its transfer.
  const double wave = 16 * 8 * 65536;
  const auto paced = [&](double rate) { return wave / (wave / rate + 2.3e3); };  // bytes per ns
  CHECK(algbw() == doctest::Approx(paced(100 * 0.94)).epsilon(0.005));  // four NICs of 25 GB/s
  two.network.nics_per_node = 32;
  CHECK(algbw() == doctest::Approx(paced(450 * 0.707 / 1.125)).epsilon(0.005));
}

TEST_CASE("pipeline cost model: no jump in time when chunks, loops or waves change") {
  for (const Cluster& cluster : machines()) {
    for (const CollectiveChoice& choice : every_choice()) {
      for (std::int64_t size = 4096; size < std::int64_t{1} << 34; size += size / 64) {
        const Duration now = cost(kAllReduce, choice, Bytes(size), cluster);
        const Duration next = cost(kAllReduce, choice, Bytes(size + size / 64), cluster);
        REQUIRE(next / now < 1.05);
      }
    }
  }
}

TEST_CASE(
    "pipeline cost model: a smaller buffer makes smaller chunks, which fill sooner and loop more "
    "often") {
  const Cluster two = cost_machine(2, 8);
  CollectiveChoice ring{Algorithm::ring, Protocol::simple, 16};
  const Duration standard = cost(kAllReduce, ring, 1024_MiB, two);
  ring.buffer = 8_KiB;
  CHECK(cost(kAllReduce, ring, 1024_MiB, two) > standard);
  CollectiveChoice broadcast{Algorithm::ring, Protocol::simple, 16};
  const Duration whole = cost(kBroadcast, broadcast, 64_MiB, two);
  broadcast.buffer = 128_KiB;
  CHECK(cost(kBroadcast, broadcast, 64_MiB, two) < whole);
}

TEST_CASE("pipeline cost model: large messages over EFA pay the rendezvous, small ones do not") {
  Cluster two = cost_machine(2, 1);
  two.network.kind = NetworkKind::efa;
  const CollectiveChoice ring{Algorithm::ring, Protocol::ll, 1};
  const double small = cost(kAllReduce, ring, 4_KiB, two).microseconds();
  const double large = cost(kAllReduce, ring, 64_KiB, two).microseconds();
  CHECK(large - small > 150);  // two hops, almost 90 us each
}

TEST_CASE("pipeline cost model: TCP connections are the limit if NCCL opens few of them") {
  Cluster two = cost_machine(2, 1);
  two.network = {.kind = NetworkKind::tcp, .nics_per_node = 1, .per_nic = 100_Gbps};
  const auto rate = [&](int channels, Sockets sockets) {  // GB/s between two ranks
    two.network.sockets = sockets;
    const CollectiveChoice ring{Algorithm::ring, Protocol::simple, channels};
    return 1e-3 * 1e9 / cost(kAllReduce, ring, Bytes(1'000'000'000), two).microseconds();
  };
  // A message of 1 MiB takes 456 us plus 22 on a connection of 2.3 GB/s.
  CHECK(rate(1, Sockets::host) == doctest::Approx(2.3 * 456 / 478).epsilon(0.01));
  CHECK(rate(2, Sockets::host) == doctest::Approx(4.6 * 456 / 478).epsilon(0.01));
  CHECK(rate(8, Sockets::host) == doctest::Approx(4.6).epsilon(0.01));  // the processor copies
  CHECK(rate(1, Sockets::virtual_nic) == doctest::Approx(0.6).epsilon(0.02));
  CHECK(rate(2, Sockets::virtual_nic) == doctest::Approx(1.2).epsilon(0.02));
  CHECK(rate(2, Sockets::gpudirect) > 6);
  two.network.connection = 1_GBps;
  CHECK(rate(1, Sockets::host) == doctest::Approx(1.0 * 1048 / 1070).epsilon(0.01));
  two.network.connection.reset();
  two.network.per_nic = 1_Gbps;  // the wire is slower than one connection
  CHECK(rate(1, Sockets::virtual_nic) == doctest::Approx(0.71 / 8).epsilon(0.01));
}

TEST_CASE(
    "pipeline cost model: over TCP short messages cost more a byte, one-way trees twice the time") {
  Cluster cluster = cost_machine(2, 8, 70);
  cluster.network = {.kind = NetworkKind::tcp, .nics_per_node = 1, .per_nic = 100_Gbps};
  cluster.network.connection = 1_GBps;
  const auto us = [&](Algorithm algorithm, NcclVersion nccl, Bytes size) {
    const CollectiveChoice choice{
        .algorithm = algorithm, .protocol = Protocol::simple, .channels = 2, .nccl = nccl};
    return cost(kAllReduce, choice, size, cluster).microseconds();
  };
  const NcclVersion old{2, 7, 8};
  const NcclVersion now{2, 8, 0};
  // At 16 ranks, a ring sends 60 messages over each connection. Each takes at least 22 us.
  const double ring = us(Algorithm::ring, now, 8_MiB);
  const double bytes = 2 * 15.0 / 16 * 8 * 1048576 / 2e9 * 1e6;
  CHECK(ring - bytes > 60 * 22);
  CHECK(us(Algorithm::ring, old, 8_MiB) == ring);
  // A tree of two nodes moves S over each connection. Before 2.8 it does so in one direction at a
  // time.
  const double tree = us(Algorithm::tree, now, 1024_MiB);
  CHECK(us(Algorithm::tree, old, 1024_MiB) == doctest::Approx(2 * tree).epsilon(0.01));
  cluster.nodes = 4;
  CHECK(us(Algorithm::tree, old, 1024_MiB) == us(Algorithm::tree, now, 1024_MiB));
  // Within a node there are no connections.
  cluster.nodes = 1;
  CHECK(us(Algorithm::tree, old, 1024_MiB) == us(Algorithm::tree, now, 1024_MiB));
}

TEST_CASE(
    "pipeline cost model: LL moves half the payload, and few channels limit small operations") {
  const Cluster node = cost_machine(1, 8);
  const CollectiveChoice one{Algorithm::ring, Protocol::ll, 1, Duration()};
  const CollectiveChoice many{Algorithm::ring, Protocol::ll, 24, Duration()};
  CHECK(cost(kAllReduce, one, 1_MiB, node) > cost(kAllReduce, many, 1_MiB, node));
}

TEST_CASE(
    "pipeline cost model: trees of Simple fill slower since 2.20, which no longer halves their "
    "chunks") {
  const Cluster cluster = cost_machine(32, 4);
  const auto took = [&](Protocol protocol, Bytes size, NcclVersion nccl) {
    const CollectiveChoice choice{
        .algorithm = Algorithm::tree, .protocol = protocol, .channels = 8, .nccl = nccl};
    return cost(kAllReduce, choice, size, cluster).microseconds();
  };
  CHECK(took(Protocol::simple, 4_MiB, {2, 20, 0}) >
        1.1 * took(Protocol::simple, 4_MiB, {2, 19, 4}));
  CHECK(took(Protocol::simple, 4096_MiB, {2, 20, 0}) <
        1.01 * took(Protocol::simple, 4096_MiB, {2, 19, 4}));
  CHECK(took(Protocol::ll128, 4_MiB, {2, 20, 0}) == took(Protocol::ll128, 4_MiB, {2, 19, 4}));
}

/// Factor by which 4 GiB take longer with half of a calibrated share.
static double halved(double PathConstants::*share, int nodes, Algorithm algorithm,
                     Protocol protocol, int channels) {
  Cluster cluster = cost_machine(nodes, 4);
  Calibration calibration;
  calibration.constants = constants_of(cluster);
  calibration.shapes = {{nodes, 4, Bytes(8), 1024_MiB, "here"}};
  const auto took = [&](double value) {
    calibration.constants.*share = value;
    cluster.calibration = std::make_shared<const Calibration>(calibration);
    const CollectiveChoice choice{algorithm, protocol, channels, Duration()};
    return cost(kAllReduce, choice, 4096_MiB, cluster).microseconds();
  };
  return took(0.2) / took(0.4);
}

TEST_CASE("pipeline cost model: tree_share slows only trees over three nodes and more") {
  for (const int nodes : {2, 8})
    for (const Algorithm algorithm : {Algorithm::tree, Algorithm::ring})
      CHECK(halved(&PathConstants::tree_share, nodes, algorithm, Protocol::simple, 24) ==
            doctest::Approx(nodes == 8 && algorithm == Algorithm::tree ? 2.0 : 1.0).epsilon(0.02));
}

TEST_CASE("pipeline cost model: ll_share slows only LL between nodes") {
  for (const int nodes : {1, 8})
    for (const Protocol protocol : {Protocol::ll, Protocol::simple})
      CHECK(halved(&PathConstants::ll_share, nodes, Algorithm::ring, protocol, 4) ==
            doctest::Approx(nodes == 8 && protocol == Protocol::ll ? 2.0 : 1.0).epsilon(0.02));
}

TEST_CASE("pipeline cost model: a broadcast costs about S/B and less than an all-reduce") {
  const CollectiveChoice ring{Algorithm::ring, Protocol::simple, 24, Duration()};
  const Cluster node = cost_machine(1, 8);
  const Bytes size = 16384_MiB;
  const double rate =
      static_cast<double>(size.count()) / cost(kBroadcast, ring, size, node).seconds() / 300e9;
  CHECK(rate == doctest::Approx(0.78).epsilon(0.02));
  for (const Bytes small : {0_B, 4_KiB, 1_MiB, 100_MiB}) {
    CHECK(cost(kBroadcast, ring, small, node) < cost(kAllReduce, ring, small, node));
  }
}

TEST_CASE("pipeline cost model: a link without bandwidth takes for ever, not a negative time") {
  Cluster dead = cost_machine(1, 4);
  dead.intra.per_gpu = Bandwidth();
  for (const CollectiveChoice& choice : every_choice()) {
    CHECK(cost(kAllReduce, choice, 1_MiB, dead) == Duration::max());
    CHECK(cost(kAllReduce, choice, 0_B, dead) < Duration::seconds(1));
  }
}

TEST_CASE("collective plan: each model gives its own answer") {
  const Cluster node = cost_machine(1, 8);
  const auto on_node = [&](CollectiveModel model, std::size_t index = 0) {
    return plan(Job({}, node, {}, std::move(model)), kAllReduce, 25_MiB, index);
  };
  const CollectivePlan plain = on_node(AnalyticModel{.tuning = {.nccl = {2, 18, 3}}});
  REQUIRE(plain.choice.has_value());
  CHECK(plain.transfer == cost(kAllReduce, *plain.choice, 25_MiB, node));
  const auto scaled = [&](CostFactors scale) {
    return on_node(AnalyticModel{{.nccl = {2, 18, 3}}, scale});
  };
  CHECK(scaled({.fixed = 1.5}).transfer ==
        (plain.transfer - plain.volume).scaled(1.5) + plain.volume);
  CHECK(scaled({.fixed = 1.5}).volume == plain.volume);
  CHECK(scaled({.bandwidth = 2}).transfer == plain.transfer + plain.volume);
  CHECK(scaled({.bandwidth = 2}).volume == plain.volume.scaled(2));

  const RecordedModel recorded{{10_us, 20_us}};
  CHECK(on_node(recorded, 1).transfer == 20_us);
  CHECK(on_node(recorded, 2).transfer == Duration());  // nothing was recorded
  CHECK_FALSE(on_node(recorded).choice.has_value());
  CHECK(on_node(FreeModel{}).transfer == Duration());
}
