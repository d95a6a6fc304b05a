#include "flow_network.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <random>

#include "fabrics.hpp"
#include "network_links.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Hops over given links, each of them a pipeline of its own.
class Wires {
 public:
  explicit Wires(std::vector<std::int64_t> capacities) {
    links.latencies.resize(capacities.size());
    links.capacities = std::move(capacities);
  }
  /// A job that sends `chunks` chunks of `bytes` in order.
  NetworkJob job(const std::vector<LinkId>& route, std::int64_t bytes, std::int64_t ceiling,
                 TimePoint first, Duration period = {}, std::uint32_t chunks = 1) {
    auto shape = std::make_unique<PipelineShape>();
    shape->hops.push_back({.route = {static_cast<std::uint32_t>(links.route_links.size()),
                                     static_cast<std::uint32_t>(route.size())},
                           .between_nodes = false,
                           .waits_for = {},
                           .feeds = {}});
    links.route_links.insert(links.route_links.end(), route.begin(), route.end());
    const Bandwidth rate = Bandwidth::bytes_per_second(static_cast<double>(ceiling));
    const ChunkPipeline pipeline{.shape = shape.get(),
                                 .chunks = chunks,
                                 .ceiling = ceiling,
                                 .chunk_time = Bytes(bytes) / rate};
    shapes.push_back(std::move(shape));
    return {.pipelines = {pipeline}, .recurrence = {{.first = first, .period = period}}};
  }
  NetworkLinks links;
  std::vector<std::unique_ptr<PipelineShape>> shapes;
};

TimePoint at_us(std::int64_t microseconds) {
  return TimePoint(microseconds * 1_us);
}

/// Runs everything, and returns when the job becomes idle.
TimePoint end_of(FlowNetwork& network, std::size_t job) {
  TimePoint end;
  bool running = false;
  while (const auto now = network.step()) {
    if (!network.idle(job)) running = true;
    if (running && network.idle(job)) {
      end = *now;
      running = false;
    }
  }
  return end;
}

}  // namespace

TEST_CASE("flow network: two transfers over one link each get half while both run") {
  Wires wires({1'000'000'000});  // 1 GB/s: 1000 bytes take 1 us
  std::vector<NetworkJob> jobs;
  jobs.push_back(wires.job({0}, 10'000, 1'000'000'000, at_us(0)));
  jobs.push_back(wires.job({0}, 2'000, 1'000'000'000, at_us(4)));
  // The first sends 4000 bytes alone. Then both send 2000 in 4 us, and then the first sends its
  // last 4000 alone.
  FlowNetwork first(wires.links, jobs);
  CHECK(end_of(first, 0) == at_us(12));
  FlowNetwork second(wires.links, jobs);
  CHECK(end_of(second, 1) == at_us(8));
}

TEST_CASE("flow network: the rate that a ceiling leaves goes to the others") {
  Wires wires({1'000'000'000});
  std::vector<NetworkJob> jobs;
  jobs.push_back(wires.job({0}, 9'000, 900'000'000, at_us(0)));
  jobs.push_back(wires.job({0}, 1'000, 200'000'000, at_us(0)));
  // 200 MB/s are less than half, so the second is not held back and ends after 5 us. The first has
  // 800 MB/s for 5 us. Then it sends the remaining 5000 bytes at its 900 MB/s, in 5.556 us.
  FlowNetwork network(wires.links, jobs);
  const Duration end = end_of(network, 0) - TimePoint();
  CHECK(end == Duration::picoseconds(10'555'556));
}

TEST_CASE("flow network: in a rendezvous a chunk waits until the one before is delivered") {
  // Three chunks of 1 us arrive 5 us later: one after the other, or independently.
  const auto end = [](bool rendezvous) {
    Wires wires({1'000'000'000});
    std::vector<NetworkJob> jobs;
    jobs.push_back(wires.job({0}, 1'000, 1'000'000'000, at_us(0), {}, 3));
    jobs[0].pipelines[0].local_latency = 5_us;
    jobs[0].pipelines[0].rendezvous = rendezvous;
    FlowNetwork network(wires.links, jobs);
    return end_of(network, 0);
  };
  CHECK(end(false) == at_us(3 + 5));
  CHECK(end(true) == at_us(3 * (1 + 5)));
}

TEST_CASE("flow network: a job begins again after its period, or when it has ended") {
  // A job sends for 3 us every `period`, beginning at 1 us. This is the time it has sent by 13 us.
  const auto sent_by_13_us = [](Duration period) {
    Wires wires({1'000'000'000});
    std::vector<NetworkJob> jobs;
    jobs.push_back(wires.job({0}, 3'000, 1'000'000'000, at_us(1), period));
    FlowNetwork network(wires.links, jobs);
    Duration busy;
    TimePoint before;
    bool sending = false;
    while (before < at_us(13)) {
      const TimePoint now = network.step().value();
      if (sending) busy += std::min(now, at_us(13)) - before;
      sending = network.load(0) > 0;
      before = now;
    }
    return busy;
  };
  CHECK(sent_by_13_us(2_us) == 12_us);  // always late, so without a pause
  CHECK(sent_by_13_us(3_us) == 12_us);
  // It sends from 1 to 4 and from 7 to 10.
  CHECK(sent_by_13_us(6_us) == 6_us);
}

TEST_CASE("flow network: no link is ever overfull, and every byte arrives once") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed ", seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    Wires wires(std::vector<std::int64_t>{1'000'003 + below(5'000'000),
                                          1'000'003 + below(5'000'000),
                                          1'000'003 + below(5'000'000), 1'000'000'000});
    std::vector<NetworkJob> jobs;
    std::vector<std::int64_t> expected(wires.links.capacities.size());
    for (int j = 0; j < 6; ++j) {
      std::vector<LinkId> route;
      for (LinkId link = 0; link < expected.size(); ++link)
        if (below(2) == 0) route.push_back(link);
      const auto chunks = static_cast<std::uint32_t>(1 + below(5));
      const std::int64_t bytes = 1 + below(3000);
      jobs.push_back(wires.job(route, bytes, 500'000 + below(4'000'000),
                               TimePoint(Duration::picoseconds(below(2'000'000'000))), {}, chunks));
      const auto amount =
          static_cast<std::int64_t>(chunk_amount(jobs.back().pipelines[0])) * chunks;
      for (const LinkId link : route) expected[link] += amount;
    }
    FlowNetwork network(wires.links, jobs);
    std::vector<std::int64_t> carried(expected.size());  // bytes times ps per second
    TimePoint before;
    std::vector<std::int64_t> load(expected.size());
    while (const auto now = network.step()) {
      for (LinkId link = 0; link < load.size(); ++link) {
        carried[link] += load[link] * (*now - before).picoseconds();
        load[link] = network.load(link);
        REQUIRE(load[link] <= wires.links.capacities[link]);
      }
      before = *now;
    }
    // An end is rounded up to a whole picosecond, for at most 30 chunks at a few MB/s.
    for (LinkId link = 0; link < load.size(); ++link) {
      CHECK(carried[link] >= expected[link]);
      CHECK(carried[link] <= expected[link] + 30 * 5'000'000);
    }
  }
}
