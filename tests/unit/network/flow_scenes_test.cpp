// Scenes whose answer is known in advance.
#include <doctest/doctest.h>

#include "collective_words.hpp"
#include "cost_pipeline.hpp"
#include "fabrics.hpp"
#include "flow_planner.hpp"
#include "pipeline_cost.hpp"
#include "shared_network_run.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

constexpr CollectiveChoice kRingChoice{
    .algorithm = Algorithm::ring, .protocol = Protocol::simple, .channels = 1};

/// Nodes of two GPUs with one 25 GB/s NIC.
Cluster pairs(int nodes) {
  Cluster cluster = small::node(2, 300);
  cluster.nodes = nodes;
  cluster.network = {
      .kind = NetworkKind::infiniband, .nics_per_node = 1, .per_nic = 25_GBps, .latency = {}};
  return cluster;
}

/// A ring through both GPUs of each of these nodes, in this order.
RingChannel ring_of_pairs(fabrics::LeafSpine& network, const std::vector<std::uint32_t>& nodes) {
  RingChannel ring;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const LinkId wire = network.builder.link(LinkKind::nvlink, 300_GBps);
    ring.ranks.push_back(2 * nodes[i]);
    ring.to_next.push_back(network.builder.route({wire}));
    ring.ranks.push_back(2 * nodes[i] + 1);
    ring.to_next.push_back(
        network.builder.route(network.path(nodes[i], nodes[(i + 1) % nodes.size()])));
  }
  return ring;
}

/// One all-reduce whose last rank arrives at that time, with the planner's background.
Duration transfer_at(TimePoint instant, Bytes size, FlowPlanner& planner) {
  const std::vector<ScheduledCollective> collectives{{.size = size}};
  const std::vector<std::optional<CollectiveChoice>> choices{kRingChoice};
  return SharedNetworkRun(planner, collectives, choices).transfer(0, instant);
}

double transfer_us(Bytes size, const Cluster& cluster) {
  return pipeline_terms(kAllReduce, kRingChoice, size, cluster).transfer_us;
}

}  // namespace

TEST_CASE("scene: a leaf-spine network oversubscribed two to one") {
  // There are two leaves with four nodes each, and two spines. Four NICs of 25 GB/s share two
  // cables up.
  const Cluster cluster = pairs(8);
  const Bytes size = 1024_MiB;
  fabrics::LeafSpine network(8, 4, 2, 25_GBps, Duration());

  SUBCASE("a ring that stays under its leaf as long as it can is not held back") {
    // One hop leaves each leaf, and one cable carries it. So it takes as long as in a flat network.
    network.builder.fabric.rings.push_back(ring_of_pairs(network, {0, 1, 2, 3, 4, 5, 6, 7}));
    FlowPlanner planner = fabrics::planner(cluster, network.builder.fabric, {});
    const Duration expected = cost(kAllReduce, kRingChoice, size, cluster);
    CHECK(planner.alone(kAllReduce, kRingChoice, size) / expected ==
          doctest::Approx(1).epsilon(0.001));
  }
  SUBCASE("a ring that crosses with every hop takes twice the transfer") {
    // All four NICs of a leaf send across at once, two over each cable. So every chunk that crosses
    // has half the rate, and the ring runs at the pace of its slowest hop. Latency is not doubled,
    // but it is only 4 us, compared with 90 us for a chunk.
    network.builder.fabric.rings.push_back(ring_of_pairs(network, {0, 4, 1, 5, 2, 6, 3, 7}));
    FlowPlanner planner = fabrics::planner(cluster, network.builder.fabric, {});
    const double us = planner.alone(kAllReduce, kRingChoice, size).microseconds();
    CHECK(us / transfer_us(size, cluster) == doctest::Approx(2).epsilon(0.002));
  }
}

TEST_CASE("scene: one NVLink of a ring has half its rate") {
  // Every chunk of the all-reduce passes every link. So the weak link sends all K chunks one after
  // the other, each in twice the time. The other links keep up and wait. Only the last delivery
  // adds a latency: start + K * 2 * chunk + latency, to the picosecond.
  const Cluster cluster = small::node(8, 25);
  const Bytes size = 256_MiB;
  Fabric fabric = fabrics::ring(8, 25_GBps, Duration(), LinkKind::nvlink);
  FlowPlanner whole = fabrics::planner(cluster, fabric, {});
  const ChunkPipeline pipeline = whole.pipeline(kAllReduce, kRingChoice, size);
  fabric.links[5].bandwidth = 12.5_GBps;
  FlowPlanner weak = fabrics::planner(cluster, fabric, {});
  const auto half = static_cast<TransferAmount>(weak.links().capacities[5]);
  const auto chunk =
      Duration::picoseconds(static_cast<std::int64_t>((chunk_amount(pipeline) + half - 1) / half));
  CHECK(chunk / pipeline.chunk_time == doctest::Approx(2).epsilon(1e-6));
  const Duration expected = pipeline.start + pipeline.chunks * chunk + pipeline.local_latency;
  CHECK(weak.alone(kAllReduce, kRingChoice, size) == expected);
}

TEST_CASE("scene: two jobs across one spine") {
  // Each job has two nodes under both leaves, and crosses the only cable once in each direction.
  // With a chunk of each on the cable, both have half the rate.
  const Cluster cluster = pairs(4);
  const Bytes size = 1024_MiB;
  fabrics::LeafSpine network(8, 4, 1, 25_GBps, Duration());
  network.builder.fabric.rings.push_back(ring_of_pairs(network, {0, 1, 4, 5}));
  const RingChannel other = ring_of_pairs(network, {2, 3, 6, 7});
  const double alone = transfer_us(size, cluster);
  const auto beside = [&](Bytes of_other, Duration first, Duration period) {
    Background background;
    background.jobs.push_back(
        {.rings = {other}, .size = of_other, .when = {TimePoint(first), period}});
    FlowPlanner planner = fabrics::planner(cluster, network.builder.fabric, background);
    return transfer_at(TimePoint(), size, planner).microseconds() / alone;
  };
  SUBCASE("if both run all the time, each takes twice as long") {
    CHECK(beside(size, {}, Duration::microseconds(1)) == doctest::Approx(2).epsilon(0.01));
  }
  // Alone, latency is visible: a twentieth of the transfer.
  const double undisturbed = cost(kAllReduce, kRingChoice, size, cluster).microseconds() / alone;
  SUBCASE("with a job of half the size, it takes one and a half times as long") {
    // Both run together, at two transfers per chunk, until the other has sent its half and we have
    // sent ours. Then our other half runs at the pace of a job alone.
    CHECK(beside(512_MiB, {}, {}) == doctest::Approx(1 + undisturbed / 2).epsilon(0.002));
  }
  SUBCASE("a job that begins after ours has ended changes nothing") {
    CHECK(beside(size, Duration::seconds(10), {}) == doctest::Approx(undisturbed).epsilon(1e-5));
  }
}

TEST_CASE("scene: background traffic takes its share of a link and no more") {
  // Half of the ring's rate is taken for the first 20 ms, so ten of them are lost.
  const Cluster cluster = small::node(8, 25);
  const Bytes size = 1024_MiB;
  Fabric fabric = fabrics::ring(8, 25_GBps, Duration(), LinkKind::nvlink);
  FlowPlanner quiet = fabrics::planner(cluster, fabric, {});
  const Duration alone = quiet.alone(kAllReduce, kRingChoice, size);
  const double rate = static_cast<double>(quiet.links().capacities[3]) / 2;
  Background background;
  background.transfers.push_back({.links = {3},
                                  .size = Bytes(static_cast<std::int64_t>(rate * 0.020)),
                                  .rate = Bandwidth::bytes_per_second(rate),
                                  .when = {}});
  FlowPlanner planner = fabrics::planner(cluster, fabric, background);
  const Duration lost = transfer_at(TimePoint(), size, planner) - alone;
  CHECK(lost.milliseconds() == doctest::Approx(10).epsilon(0.05));
}
