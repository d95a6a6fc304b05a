#include "steady_state.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

#include "every_chunk_network.hpp"
#include "fabrics.hpp"
#include "network_links.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Runs every chunk, event by event.
Duration simulate_all(const ChunkPipeline& pipeline, const NetworkLinks& links) {
  EveryChunkNetwork network(links, {{.pipelines = {pipeline}, .recurrence = {}}});
  network.start(0, 0, TimePoint());
  return network.run(0).since_start();
}

struct PipelineWorld {
  Fabric fabric;
  NetworkLinks links;
  PipelineShape shape;
  ChunkPipeline pipeline;
};

/// Rings, opened rings or trees of 2 to 9 ranks. All hops are equal, or every link and latency is
/// drawn separately.
PipelineWorld draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  const auto ranks = static_cast<std::uint32_t>(2 + below(8));
  const bool alike = below(3) == 0;
  PipelineWorld world;
  TreeChannel tree;
  world.fabric = fabrics::ring(ranks, 10_GBps, Duration());
  fabrics::Builder builder{.fabric = std::move(world.fabric)};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    tree.parent.push_back(rank == 0 ? 0
                                    : static_cast<std::uint32_t>(random() % std::uint64_t{rank}));
    tree.up.push_back(builder.route({builder.link(LinkKind::network, 10_GBps)}));
    tree.down.push_back(builder.route({builder.link(LinkKind::network, 10_GBps)}));
  }
  builder.fabric.trees.push_back(tree);
  world.fabric = std::move(builder.fabric);
  world.links.route_links = world.fabric.route_links;
  for (std::size_t link = 0; link < world.fabric.links.size(); ++link) {
    world.links.capacities.push_back(alike ? 10'000 : 2'000 + below(10'000));
    world.links.latencies.push_back(Duration::picoseconds(alike ? 500 : below(2'000)));
  }
  switch (below(3)) {
    case 0:
      world.shape = ring_all_reduce_shape(world.fabric, 1, 2);
      break;
    case 1:
      world.shape = ring_broadcast_shape(world.fabric, 1, 2);
      break;
    default:
      world.shape = tree_all_reduce_shape(world.fabric, 1, 2);
      break;
  }
  world.pipeline = {.shape = nullptr,
                    .chunks = static_cast<std::uint32_t>(1 + below(300)),
                    .start = Duration::picoseconds(below(1000)),
                    .ceiling = 8'000,
                    .chunk_time = Duration::picoseconds(below(3) == 0 ? below(3) : below(1000)),
                    .local_latency = Duration::picoseconds(below(2) == 0 ? 0 : below(3000)),
                    .network_latency = Duration::picoseconds(below(5000)),
                    .rendezvous = below(2) == 0};
  return world;
}

}  // namespace

TEST_CASE("steady state: the shortcut equals the full run, for equal hops and for different ones") {
  int skipped = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    INFO("seed ", seed);
    PipelineWorld world = draw(seed);
    world.pipeline.shape = &world.shape;
    const std::optional<Duration> quick = uncontended_duration(world.pipeline, world.links);
    REQUIRE(quick.has_value());
    REQUIRE(*quick == simulate_all(world.pipeline, world.links));
    ++skipped;
  }
  CHECK(skipped == 1500);
}

TEST_CASE("steady state: without hops or chunks there is nothing after the start") {
  const NetworkLinks links{.capacities = {8'000}, .latencies = {1_us}, .route_links = {}};
  const PipelineShape none;
  PipelineWorld world = draw(1);
  for (const ChunkPipeline& pipeline :
       {ChunkPipeline{.shape = &none, .chunks = 3, .start = 7_us},
        ChunkPipeline{.shape = &world.shape, .chunks = 0, .start = 7_us}})
    CHECK(uncontended_duration(pipeline, links) == 7_us);
}

TEST_CASE("steady state: hops that share a link are left to the full run") {
  fabrics::LeafSpine network(4, 2, 1, 10_GBps, Duration());
  // Ranks 0 and 1 are under one leaf, 2 and 3 under the other. In this order every hop crosses the
  // spine.
  network.builder.fabric.rings.push_back(network.ring({0, 2, 1, 3}));
  const Fabric& fabric = network.builder.fabric;
  NetworkLinks links{.capacities = std::vector<std::int64_t>(fabric.links.size(), 10'000),
                     .latencies = std::vector<Duration>(fabric.links.size()),
                     .route_links = fabric.route_links};
  const PipelineShape shape = ring_all_reduce_shape(fabric, 1, 1);
  const ChunkPipeline pipeline{
      .shape = &shape, .chunks = 6, .ceiling = 10'000, .chunk_time = 100_ps};
  CHECK_FALSE(uncontended_duration(pipeline, links).has_value());
  // Two hops share each cable up and down, so every chunk takes twice as long.
  CHECK(simulate_all(pipeline, links) == 6 * 200_ps);
}

TEST_CASE("steady state: results of another simulator, to the last digit") {
  const auto times = [](std::uint32_t ranks, bool tree) {
    Fabric fabric = fabrics::ring(ranks, 50_GBps, Duration::microseconds(0.5));
    if (tree) {
      fabrics::LeafSpine network(ranks, 8, 4, 50_GBps, Duration::microseconds(0.25));
      std::vector<std::uint32_t> hosts(ranks);
      std::iota(hosts.begin(), hosts.end(), 0U);
      network.builder.fabric.rings.push_back(network.ring(hosts));
      fabric = network.builder.fabric;
    }
    NetworkLinks links{.capacities = {}, .latencies = {}, .route_links = fabric.route_links};
    for (const Link& link : fabric.links) {
      links.capacities.push_back(50'000'000'000);
      links.latencies.push_back(link.latency);
    }
    const PipelineShape shape = ring_all_reduce_shape(fabric, 1, 1);
    const ChunkPipeline pipeline{.shape = &shape,
                                 .chunks = 2 * (ranks - 1),
                                 .ceiling = 50'000'000'000,
                                 .chunk_time = Bytes(26'214'400 / ranks) / 50_GBps,
                                 .rendezvous = true};
    const Duration bucket = uncontended_duration(pipeline, links).value();
    if (ranks <= 64) CHECK(bucket == simulate_all(pipeline, links));
    return 10 * bucket.picoseconds();
  };
  // Ten all-reduces of 25 MiB. A rank sends 25 MiB / N in N-ths of 524.288 us, and each message is
  // delivered 500 ns later. The time is 2 (N - 1) times that, ten times.
  CHECK(times(8, false) == 9'245'040'000);
  CHECK(times(1024, false) == 20'705'520'000);
  // SimGrid 3.32 gives this for a fat tree with 8 hosts per leaf. From 16 hosts on, messages that
  // cross leaves take 1 us more than they send. The ring runs at the pace of those.
  CHECK(times(8, true) == 9'245'040'000);
  CHECK(times(64, true) == 11'581'920'000);
  CHECK(times(256, true) == 15'544'800'000);
  CHECK(times(1024, true) == 30'935'520'000);
}
