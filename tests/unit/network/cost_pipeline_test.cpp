// The cost model's delay is distributed over the hops of random shapes, and compared with every
// path.
#include "cost_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "random_chain.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

using small::draw;

/// One to three channels of up to nine hops. Each hop waits for any of the hops before it in its
/// channel.
PipelineShape random_graph(std::mt19937_64& random) {
  PipelineShape shape;
  for (std::int64_t channel = draw(random, 3); channel >= 0; --channel) {
    const auto first = static_cast<std::uint32_t>(shape.hops.size());
    const auto count = static_cast<std::uint32_t>(1 + draw(random, 9));
    for (std::uint32_t hop = 0; hop < count; ++hop) {
      const auto list = static_cast<std::uint32_t>(shape.hop_lists.size());
      for (std::uint32_t before = 0; before < hop; ++before)
        if (draw(random, 3) == 0) shape.hop_lists.push_back(first + before);
      shape.hops.push_back(
          {.route = {},
           .between_nodes = draw(random, 3) == 0,
           .waits_for = {list, static_cast<std::uint32_t>(shape.hop_lists.size()) - list},
           .feeds = {}});
    }
    shape.unlike_channels.push_back({first, count});
  }
  return shape;
}

/// One to three rings of up to seven hops.
PipelineShape random_rings(std::mt19937_64& random) {
  PipelineShape shape;
  shape.dependency = ChunkDependency::previous;
  for (std::int64_t channel = draw(random, 3); channel >= 0; --channel) {
    const auto first = static_cast<std::uint32_t>(shape.hops.size());
    const auto count = static_cast<std::uint32_t>(1 + draw(random, 7));
    for (std::uint32_t hop = 0; hop < count; ++hop)
      shape.hops.push_back(
          {.route = {}, .between_nodes = draw(random, 3) == 0, .waits_for = {}, .feeds = {}});
    shape.unlike_channels.push_back({first, count});
  }
  return shape;
}

double us_of(const ChunkPipeline& pipeline, const Hop& hop) {
  return (hop.between_nodes ? pipeline.network_latency : pipeline.local_latency).microseconds();
}

/// Longest path to any hop: its latencies, and a chunk's time for each hop after the first.
double longest_path(const PipelineShape& shape, const ChunkPipeline& pipeline, double chunk_us) {
  double longest = 0;
  const std::function<void(std::uint32_t, double)> walk = [&](std::uint32_t at, double behind) {
    const double length = behind + us_of(pipeline, shape.hops[at]);
    longest = std::max(longest, length);
    for (const std::uint32_t before : shape.list(shape.hops[at].waits_for))
      walk(before, length + chunk_us);
  };
  for (std::uint32_t hop = 0; hop < shape.hops.size(); ++hop) walk(hop, 0);
  return longest;
}

/// Longest run of as many hops of a ring as there are chunks, from any hop on.
double longest_run(const PipelineShape& shape, const ChunkPipeline& pipeline) {
  double longest = 0;
  for (const Slice ring : shape.unlike_channels)
    for (std::uint32_t from = 0; from < ring.count; ++from) {
      double run = 0;
      for (std::uint32_t k = 0; k < pipeline.chunks; ++k)
        run += us_of(pipeline, shape.hops[ring.first + (from + k) % ring.count]);
      longest = std::max(longest, run);
    }
  return longest;
}

PipelineTerms random_terms(std::mt19937_64& random) {
  const auto us = [&](std::int64_t most) { return static_cast<double>(1 + draw(random, most)); };
  return {.start_us = us(9),
          .latency_us = us(900),
          .fill_us = us(100),
          .transfer_us = us(400),
          .local_hop_us = us(20),
          .network_hop_us = us(60)};
}

}  // namespace

TEST_CASE("cost pipeline: the first chunk takes the cost model's delay on its longest path") {
  std::size_t shared_out = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    INFO("seed ", seed);
    std::mt19937_64 random(seed);
    const PipelineShape shape = random_graph(random);
    const PipelineTerms terms = random_terms(random);
    const auto chunks = static_cast<std::uint32_t>(1 + draw(random, 30));
    const ChunkPipeline pipeline = cost_pipeline(shape, terms, {1e6, chunks});
    REQUIRE(pipeline.start == Duration::microseconds(terms.start_us));
    REQUIRE(pipeline.chunks == chunks);
    const double longest = longest_path(shape, pipeline, terms.transfer_us / chunks);
    const double delay = terms.latency_us + terms.fill_us;
    if (pipeline.local_latency == 0_us) {  // chunks alone take longer
      REQUIRE(pipeline.network_latency == 0_us);
      REQUIRE(longest >= delay);
      continue;
    }
    ++shared_out;
    REQUIRE(longest == doctest::Approx(delay).epsilon(3e-6));
    REQUIRE(pipeline.network_latency / pipeline.local_latency ==
            doctest::Approx(terms.network_hop_us / terms.local_hop_us).epsilon(1e-4));
  }
  CHECK(shared_out > 1000);
  CHECK(shared_out < 3000);
}

TEST_CASE("cost pipeline: the slowest hops of a ring in a row take the cost model's delay") {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    INFO("seed ", seed);
    std::mt19937_64 random(seed);
    const PipelineShape shape = random_rings(random);
    const PipelineTerms terms = random_terms(random);
    const auto chunks = static_cast<std::uint32_t>(1 + draw(random, 30));
    const ChunkPipeline pipeline = cost_pipeline(shape, terms, {1e6, chunks});
    REQUIRE(longest_run(shape, pipeline) ==
            doctest::Approx(terms.latency_us + terms.fill_us).epsilon(1e-5));
  }
}

TEST_CASE("cost pipeline: a kind of hop without a latency uses the other kind's") {
  std::mt19937_64 random(1);
  const PipelineShape shape = random_rings(random);
  const auto latencies = [&](double local_us, double network_us) {
    const ChunkPipeline pipeline = cost_pipeline(shape,
                                                 {.latency_us = 30,
                                                  .transfer_us = 1,
                                                  .local_hop_us = local_us,
                                                  .network_hop_us = network_us},
                                                 {1e6, 10});
    return std::pair(pipeline.local_latency, pipeline.network_latency);
  };
  const auto alike = latencies(0, 0);
  CHECK(alike.first == 3_us);
  CHECK(alike.second == 3_us);
  CHECK(latencies(0, 7) == alike);
  CHECK(latencies(7, 0) == alike);
}
