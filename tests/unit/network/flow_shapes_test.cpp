// The input of the flow network: the hops of each collective, what they carry, how fast, and the
// links they pass. The examples are small enough to draw.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "chunk_pipeline.hpp"
#include "cost_pipeline.hpp"
#include "fabrics.hpp"
#include "flow_planner.hpp"
#include "network_links.hpp"
#include "round_costs.hpp"
#include "shared_network_run.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using Hops = std::vector<std::uint32_t>;

Hops before(const PipelineShape& shape, std::size_t hop) {
  const auto list = shape.list(shape.hops[hop].waits_for);
  return {list.begin(), list.end()};
}

Hops behind(const PipelineShape& shape, std::size_t hop) {
  const auto list = shape.list(shape.hops[hop].feeds);
  return {list.begin(), list.end()};
}

/// A channel over these ranks. Each hop is a link of its own, numbered like the hop.
Fabric ring_of(const std::vector<std::uint32_t>& ranks) {
  fabrics::Builder builder;
  RingChannel ring{.ranks = ranks, .to_next = {}};
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ring.to_next.push_back(builder.route({builder.link(LinkKind::nvlink, 100_GBps)}));
  builder.fabric.rings.push_back(ring);
  return builder.fabric;
}

}  // namespace

TEST_CASE("flow shapes: every hop of a ring waits for the one before it, the first for the last") {
  // Ranks 2, 0, 3, 1 are in nodes of two: 0 and 1 are node 0.
  const PipelineShape ring = ring_all_reduce_shape(ring_of({2, 0, 3, 1}), 1, 2);
  REQUIRE(ring.hops.size() == 4);
  CHECK(ring.dependency == ChunkDependency::previous);
  for (std::uint32_t hop = 0; hop < 4; ++hop) {
    CAPTURE(hop);
    CHECK(before(ring, hop) == Hops{(hop + 3) % 4});
    CHECK(behind(ring, hop) == Hops{(hop + 1) % 4});
    CHECK(ring.hops[hop].between_nodes);
  }
  const PipelineShape inside = ring_all_reduce_shape(ring_of({0, 1, 2, 3}), 1, 2);
  CHECK_FALSE(inside.hops[0].between_nodes);
  CHECK(inside.hops[1].between_nodes);
  CHECK_FALSE(inside.hops[2].between_nodes);
  CHECK(inside.hops[3].between_nodes);
}

TEST_CASE("flow shapes: a broadcast opens the ring before its first rank") {
  // Rank 0 sends, over the links of its own hop and the two after it. None leads back to it.
  const Fabric fabric = ring_of({2, 0, 3, 1});
  const PipelineShape shape = ring_broadcast_shape(fabric, 1, 2);
  REQUIRE(shape.hops.size() == 3);
  CHECK(shape.dependency == ChunkDependency::same);
  CHECK(before(shape, 0).empty());
  CHECK(before(shape, 1) == Hops{0});
  CHECK(before(shape, 2) == Hops{1});
  for (std::uint32_t hop = 0; hop < 3; ++hop)
    CHECK(fabric.links_of(shape.hops[hop].route)[0] == (hop + 1) % 4);
}

TEST_CASE("flow shapes: a reduce opens the ring after its first rank, where it ends") {
  // It uses the hops of ranks 3, 1 and 2: from the rank after 0 back to it.
  const Fabric fabric = ring_of({2, 0, 3, 1});
  const PipelineShape shape = ring_reduce_shape(fabric, 1, 2);
  REQUIRE(shape.hops.size() == 3);
  CHECK(before(shape, 0).empty());
  CHECK(before(shape, 2) == Hops{1});
  for (std::uint32_t hop = 0; hop < 3; ++hop)
    CHECK(fabric.links_of(shape.hops[hop].route)[0] == (hop + 2) % 4);
}

TEST_CASE("flow shapes: pairs send at once, and all channels use the first ring's links") {
  Fabric fabric = ring_of({2, 0, 3, 1});
  fabric.rings.push_back({.ranks = {0, 1, 2, 3}, .to_next = fabric.rings[0].to_next});
  const PipelineShape shape = send_recv_shape(fabric, 3, 2);
  REQUIRE(shape.hops.size() == 12);
  for (std::uint32_t hop = 0; hop < 12; ++hop) {
    CHECK(before(shape, hop).empty());
    CHECK(shape.hops[hop].between_nodes);
    CHECK(fabric.links_of(shape.hops[hop].route)[0] == hop % 4);
  }
}

TEST_CASE(
    "flow shapes: a tree's chunks go up from the leaves, and down once all have reached the root") {
  // Ranks 1 and 2 are children of 0, and 3 is a child of 1. There are two GPUs a node.
  fabrics::Builder builder;
  const auto wire = [&] { return builder.route({builder.link(LinkKind::nvlink, 100_GBps)}); };
  TreeChannel tree{.parent = {0, 0, 0, 1}, .up = {}, .down = {}};
  for (int rank = 0; rank < 4; ++rank) {
    tree.up.push_back(rank == 0 ? Route{} : wire());
    tree.down.push_back(rank == 0 ? Route{} : wire());
  }
  builder.fabric.trees.push_back(tree);
  const PipelineShape shape = tree_all_reduce_shape(builder.fabric, 1, 2);
  REQUIRE(shape.hops.size() == 6);
  CHECK(shape.dependency == ChunkDependency::same);
  const auto hop_over = [&](Route route) {
    std::uint32_t hop = 0;
    while (builder.fabric.links_of(shape.hops[hop].route)[0] != builder.fabric.links_of(route)[0])
      ++hop;
    return hop;
  };
  const std::uint32_t up3 = hop_over(tree.up[3]);
  const std::uint32_t up1 = hop_over(tree.up[1]);
  const std::uint32_t up2 = hop_over(tree.up[2]);
  CHECK(before(shape, up3).empty());
  CHECK(before(shape, up2).empty());
  CHECK(before(shape, up1) == Hops{up3});
  for (const std::uint32_t child : {1U, 2U}) {
    Hops all = before(shape, hop_over(tree.down[child]));
    std::sort(all.begin(), all.end());
    Hops arrived{up1, up2};
    std::sort(arrived.begin(), arrived.end());
    CHECK(all == arrived);
  }
  CHECK(before(shape, hop_over(tree.down[3])) == Hops{hop_over(tree.down[1])});
  CHECK_FALSE(shape.hops[up1].between_nodes);
  CHECK(shape.hops[up2].between_nodes);
  CHECK(shape.hops[up3].between_nodes);
  CHECK(shape.hops[hop_over(tree.down[2])].between_nodes);
}

TEST_CASE("flow shapes: more channels than the fabric has repeat its first ones") {
  Fabric fabric = ring_of({0, 1});
  fabric.rings.push_back({.ranks = {1, 0}, .to_next = fabric.rings[0].to_next});
  const PipelineShape shape = ring_all_reduce_shape(fabric, 3, 8);
  CHECK(shape.hops.size() == 6);
  CHECK(shape.hops[4].route.first == fabric.rings[0].to_next[0].first);
  CHECK(before(shape, 4) == Hops{5});
}

TEST_CASE("flow shapes: what each hop carries") {
  // 16 MB are sent on two channels over eight ranks. For each of its loops, a ring passes 14 chunks
  // of a rank's share of a channel. Trees and broadcasts pass the whole channel, in chunks of their
  // own.
  const Cluster two = round_costs::cluster(2, 4);
  const Bytes size(16'000'000);
  const auto load = [&](CollectiveKind kind, Algorithm algorithm, PipelineTerms terms) {
    return load_of(kind, {.algorithm = algorithm, .channels = 2}, 2, two, size, terms);
  };
  const auto all_reduce = CollectiveKind::all_reduce;
  const PipelineLoad ring = load(all_reduce, Algorithm::ring, {.loops = 3});
  CHECK(ring.wire_bytes == doctest::Approx(14e6));
  CHECK(ring.chunks == 42);
  // Half of the bytes that LL sends are flags.
  CHECK(load(all_reduce, Algorithm::ring, {.payload = 0.5}).wire_bytes == doctest::Approx(28e6));
  const PipelineLoad tree = load(all_reduce, Algorithm::tree, {.loops = 3});
  CHECK(tree.wire_bytes == doctest::Approx(8e6));
  CHECK(tree.chunks == 0);
  const PipelineLoad broadcast = load(CollectiveKind::broadcast, Algorithm::ring, {.payload = 0.5});
  CHECK(broadcast.wire_bytes == doctest::Approx(16e6));
  CHECK(broadcast.chunks == 0);
  const PipelineLoad gather = load(CollectiveKind::all_gather, Algorithm::ring, {.loops = 3});
  CHECK(gather.wire_bytes == doctest::Approx(7e6));
  CHECK(gather.chunks == 21);
}

TEST_CASE("flow shapes: a ring's pace, and its latency divided among the slowest hops in a row") {
  // Six chunks of 10 kB take 60 us: 10 us each at 1 GB/s. A delay of 36 us covers six hops in a row
  // of 5 us. That is one turn and two hops, 30 us, so each hop is a fifth longer.
  const PipelineShape inside = ring_all_reduce_shape(ring_of({0, 1, 2, 3}), 1, 4);
  const PipelineTerms terms{
      .start_us = 10, .latency_us = 30, .fill_us = 6, .transfer_us = 60, .local_hop_us = 5};
  const PipelineLoad load{.wire_bytes = 60'000, .chunks = 6};
  const ChunkPipeline pipeline = cost_pipeline(inside, terms, load);
  CHECK(pipeline.start == 10_us);
  CHECK(pipeline.chunks == 6);
  CHECK(pipeline.chunk_time == 10_us);
  CHECK(pipeline.ceiling == 1'000'000'000);
  CHECK(pipeline.local_latency == 6_us);
  CHECK_FALSE(pipeline.rendezvous);
  // The rate also holds for short transfers: 500 bytes in half a microsecond.
  CHECK(cost_pipeline(inside, {.latency_us = 3, .transfer_us = 0.5, .local_hop_us = 1},
                      {.wire_bytes = 500, .chunks = 1})
            .ceiling == 1'000'000'000);
  // Three GPUs are in one node and one is in another, so hops take 5, 5, 50 and 50. Six hops
  // contain a turn and both of the long ones: 210 us.
  const PipelineShape apart = ring_all_reduce_shape(ring_of({0, 1, 2, 3}), 1, 3);
  const PipelineTerms long_terms{
      .latency_us = 400, .fill_us = 20, .transfer_us = 60, .local_hop_us = 5, .network_hop_us = 50};
  const ChunkPipeline twice = cost_pipeline(apart, long_terms, load);
  CHECK(twice.local_latency == 10_us);
  CHECK(twice.network_latency == 100_us);
}

TEST_CASE("flow shapes: a broadcast has enough chunks to keep its own fill small") {
  // Three hops add twice a chunk's time to the cost model's delay of 40 us. There are 4 * 2 * 100 /
  // 40 chunks, so that this is only a quarter of the delay. The hops take the rest of it, 40 - 2 *
  // 5 us.
  const PipelineShape shape = ring_broadcast_shape(ring_of({0, 1, 2, 3}), 1, 4);
  const PipelineTerms terms{.latency_us = 30, .fill_us = 10, .transfer_us = 100, .local_hop_us = 7};
  const ChunkPipeline pipeline = cost_pipeline(shape, terms, {.wire_bytes = 1e6, .chunks = 0});
  CHECK(pipeline.chunks == 20);
  CHECK(pipeline.chunk_time == 5_us);
  CHECK(pipeline.local_latency == 10_us);
  // Without delay there are a thousand chunks for each hop, and without bytes a single one.
  CHECK(cost_pipeline(shape, {.transfer_us = 100}, {.wire_bytes = 1e6, .chunks = 0}).chunks ==
        3000);
  CHECK(cost_pipeline(shape, {.latency_us = 1, .local_hop_us = 1}, {}).chunks == 1);
}

TEST_CASE(
    "flow shapes: a hop runs at the pace of its narrowest link, and has the latency of every "
    "link") {
  const NetworkLinks links{.capacities = {4'000'000'000, 1'000'000'000},
                           .latencies = {1_us, 2_us},
                           .route_links = {0, 1, 0}};
  const ChunkPipeline pipeline{.shape = nullptr,
                               .chunks = 5,
                               .start = {},
                               .ceiling = 2'000'000'000,
                               .chunk_time = 3_us,
                               .local_latency = 10_us,
                               .network_latency = 20_us};
  CHECK(static_cast<double>(chunk_amount(pipeline)) == 6e15);  // 6 kB, in bytes ps/s
  const Hop both{.route = {0, 2}, .between_nodes = false, .waits_for = {}, .feeds = {}};
  const HopTiming slow = hop_timing(pipeline, both, links);
  CHECK(slow.ceiling == 1'000'000'000);
  CHECK(slow.send == 6_us);
  CHECK(slow.latency == 13_us);
  const Hop wide{.route = {2, 1}, .between_nodes = true, .waits_for = {}, .feeds = {}};
  const HopTiming fast = hop_timing(pipeline, wide, links);
  CHECK(fast.ceiling == 2'000'000'000);
  CHECK(fast.send == 3_us);
  CHECK(fast.latency == 21_us);
}

TEST_CASE("flow shapes: links that can carry everything reserved on them hold nobody back") {
  const NetworkLinks links{.capacities = {3, 2}, .latencies = {{}, {}}, .route_links = {0, 1}};
  PipelineShape shape;
  shape.hops.push_back({.route = {0, 1}, .between_nodes = false, .waits_for = {}, .feeds = {}});
  shape.hops.push_back({.route = {0, 2}, .between_nodes = false, .waits_for = {}, .feeds = {}});
  ChunkPipeline pipeline{.shape = &shape, .chunks = 1, .ceiling = 2, .chunk_time = 1_us};
  std::vector<std::int64_t> reserved(2, 0);
  reserve_links(pipeline, hop_timings(pipeline, links), links, reserved);
  CHECK(reserved == std::vector<std::int64_t>{4, 2});
  CHECK_FALSE(uncontended(shape.hops[0].route, links, reserved));
  CHECK_FALSE(uncontended(shape.hops[1].route, links, reserved));
  CHECK(uncontended({1, 1}, links, reserved));
  reserved[0] = std::numeric_limits<std::int64_t>::max() - 1;
  reserve_links(pipeline, hop_timings(pipeline, links), links, reserved);
  CHECK(reserved[0] == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("flow shapes: links carry their kind's share of their stated rate") {
  fabrics::Builder builder;
  builder.link(LinkKind::nvlink, 100_GBps, 1_us);
  builder.link(LinkKind::pcie, 20_GBps);
  builder.link(LinkKind::socket, 10_GBps);
  builder.link(LinkKind::nic, 25_GBps, 2_us);
  builder.link(LinkKind::network, 50_GBps);
  builder.link(LinkKind::network, Bandwidth());
  // 9.87 are data, which is rounded up.
  builder.link(LinkKind::network, Bandwidth::bytes_per_second(10.5));
  builder.link(LinkKind::network,
               Bandwidth::bytes_per_second(std::numeric_limits<double>::infinity()));
  Cluster cluster = small::node(4, 300);
  cluster.nodes = 2;
  cluster.gpu.compute_capability = 80;
  cluster.network = {.kind = NetworkKind::infiniband, .nics_per_node = 1, .per_nic = 25_GBps};
  const FlowPlanner planner = fabrics::planner(cluster, builder.fabric, {});
  const NetworkLinks& links = planner.links();
  const double expected[] = {76e9, 17e9, 10e9, 23.5e9, 47e9, 1, 10, 1e18};
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(static_cast<double>(links.capacities[i]) == doctest::Approx(expected[i]));
  }
  CHECK(links.latencies[0] == 1_us);
  CHECK(links.latencies[3] == 2_us);
}

TEST_CASE("flow shapes: for which collectives the fabric has channels") {
  Cluster cluster = small::node(4);
  const Fabric rings = ring_of({0, 1, 2, 3});
  Fabric trees;
  trees.trees.push_back({.parent = {0, 0, 0, 0}, .up = {}, .down = {}});
  const auto has = [&](const Fabric& fabric, CollectiveKind kind, Algorithm algorithm) {
    return fabrics::planner(cluster, fabric).has_channels(kind, {.algorithm = algorithm});
  };
  const auto all_reduce = CollectiveKind::all_reduce;
  const auto broadcast = CollectiveKind::broadcast;
  CHECK(has(rings, all_reduce, Algorithm::ring));
  CHECK(has(rings, broadcast, Algorithm::ring));
  CHECK_FALSE(has(rings, all_reduce, Algorithm::tree));
  CHECK_FALSE(has(rings, all_reduce, Algorithm::nvls));
  CHECK_FALSE(has(trees, all_reduce, Algorithm::ring));
  CHECK_FALSE(has(trees, broadcast, Algorithm::ring));
  CHECK(has(trees, all_reduce, Algorithm::tree));
  cluster.gpus_per_node = 1;
  CHECK_FALSE(has(rings, all_reduce, Algorithm::ring));
}

TEST_CASE("flow planner: another job is a ring of its own size") {
  // It has two of four nodes with two GPUs each: six chunks of a quarter of 8 MB, 300 us at 40
  // GB/s.
  const Cluster four = round_costs::cluster(4, 2);
  Fabric fabric = ring_of({0, 1, 2, 3, 4, 5, 6, 7});
  const RingChannel others{
      .ranks = {2, 3, 4, 5},
      .to_next = {fabric.rings[0].to_next.begin() + 2, fabric.rings[0].to_next.begin() + 6}};
  Background background;
  background.jobs.push_back(
      {.rings = {others}, .size = Bytes(8'000'000), .when = {TimePoint(3_us), 7_ms}});
  background.transfers.push_back({.links = {0, 1},
                                  .size = Bytes(1'000'000),
                                  .rate = 10_GBps,
                                  .when = {TimePoint(1_us), 2_ms}});
  const FlowPlanner planner = fabrics::planner(four, fabric, background);
  REQUIRE(planner.background().size() == 2);
  const NetworkJob& transfer = planner.background()[0];
  CHECK(transfer.pipelines[0].chunks == 1);
  CHECK(transfer.pipelines[0].ceiling == 10'000'000'000);
  CHECK(transfer.pipelines[0].chunk_time == 100_us);
  CHECK(transfer.recurrence->first == TimePoint(1_us));
  CHECK(transfer.recurrence->period == 2_ms);
  CHECK(planner.links().of(transfer.pipelines[0].shape->hops[0].route).size() == 2);
  const NetworkJob& job = planner.background()[1];
  CHECK(job.pipelines[0].shape->hops.size() == 4);
  CHECK(job.pipelines[0].chunks == 6);
  CHECK(job.pipelines[0].chunk_time == 50_us);
  CHECK(job.pipelines[0].ceiling == 40'000'000'000);
  CHECK(job.recurrence->first == TimePoint(3_us));
  CHECK(job.recurrence->period == 7_ms);
}

TEST_CASE(
    "flow planner: latencies and bytes scale separately, and links stay busy until they are done") {
  // 241.25 us of latency take twice as long, and 700 us of bytes half the time. The second transfer
  // is requested before the links are free, and waits.
  const Cluster two = round_costs::cluster(2, 4);
  FlowPlanner planner = fabrics::planner(two, fabrics::switched(two, 2), {});
  const CollectiveChoice ring{.algorithm = Algorithm::ring, .channels = 2};
  const ScheduledCollective one{.transfer = 832.5_us, .size = Bytes(16'000'000), .volume = 350_us};
  const std::vector<ScheduledCollective> collectives{one, one, one};
  // The third one's choice is unknown, so it takes as long as its plan says.
  const std::vector<std::optional<CollectiveChoice>> choices{ring, ring, std::nullopt};
  SharedNetworkRun run(planner, collectives, choices, {.fixed = 2, .bandwidth = 0.5});
  CHECK(run.transfer(0, TimePoint()).microseconds() == doctest::Approx(832.5).epsilon(1e-3));
  CHECK(run.transfer(1, TimePoint(833_us)).microseconds() == doctest::Approx(832.5).epsilon(1e-3));
  CHECK(run.transfer(2, TimePoint(2_ms)) == 832.5_us);
}
