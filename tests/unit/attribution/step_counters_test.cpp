// Counters of a step by hand: buckets of whole megabytes on links of known rates.
#include <doctest/doctest.h>

#include "ddpsim/sim/attribution/step_counters.hpp"
#include "ddpsim/sim/values/link_loads.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::at;

namespace {

/// Four ranks. Each byte that a hop of a ring sends keeps the busiest NVLink busy for 20 ps and the
/// busiest NIC for 100 ps. With a tree it is half.
Job four_ranks() {
  LinkLoad ring;
  ring.local[static_cast<std::size_t>(LinkKind::nvlink)] = 20e-12;
  ring.network[static_cast<std::size_t>(LinkKind::nvlink)] = 10e-12;
  ring.network[static_cast<std::size_t>(LinkKind::nic)] = 100e-12;
  LinkLoad tree;
  tree.network[static_cast<std::size_t>(LinkKind::nic)] = 50e-12;
  Cluster cluster = small::node(2);
  cluster.nodes = 2;
  cluster.loads = std::make_shared<const LinkLoads>(
      LinkLoads{.by_channels = {std::vector{ring}, std::vector{tree}}});
  return {small::chain({{4, 1}}, 1, 1), cluster, {}, AnalyticModel{}};
}

/// A bucket of 8 MB that is ready, starts, transfers and ends at these microseconds.
BucketResult bucket(double ready, double start, double transfer, double end,
                    std::optional<Algorithm> algorithm) {
  BucketResult result;
  result.ready = at(Duration::microseconds(ready));
  result.launch = result.ready;
  result.start = at(Duration::microseconds(start));
  result.last_arrival = at(Duration::microseconds(transfer));
  result.end = at(Duration::microseconds(end));
  if (algorithm) result.choice = CollectiveChoice{*algorithm, Protocol::simple, 2};
  result.bytes = Bytes(8'000'000);
  return result;
}

CounterLevels levels(std::initializer_list<std::pair<double, std::int64_t>> points) {
  CounterLevels levels;
  for (const auto& [us, value] : points) levels.push_back({at(Duration::microseconds(us)), value});
  return levels;
}

const CounterLevels& load(const StepCounters& counters, LinkKind kind) {
  return counters.link_load[static_cast<std::size_t>(kind)];
}

}  // namespace

TEST_CASE(
    "step counters: a bucket waits from ready to start, and transfers from the last rank's "
    "arrival") {
  const StepCounters counters =
      step_counters({bucket(100, 150, 200, 2200, Algorithm::ring)}, four_ranks());
  CHECK(counters.buckets_waiting == levels({{100, 1}, {150, 0}}));
  CHECK(counters.bytes_in_flight == levels({{200, 8'000'000}, {2200, 0}}));
  // 1.5 * 8 MB in 2 ms are 6 GB/s, which is what each hop of a ring sends.
  CHECK(counters.bus_bandwidth == levels({{200, 6'000'000'000}, {2200, 0}}));
  CHECK(load(counters, LinkKind::nvlink) ==
        levels({{200, 120}, {2200, 0}}));  // 6 GB/s * 20 ps/B = 12 %
  CHECK(load(counters, LinkKind::nic) == levels({{200, 600}, {2200, 0}}));
  CHECK(load(counters, LinkKind::pcie).empty());
}

TEST_CASE("step counters: a hop of a tree sends the tensor, for any number of ranks") {
  const StepCounters counters =
      step_counters({bucket(0, 0, 0, 2000, Algorithm::tree)}, four_ranks());
  CHECK(counters.bus_bandwidth == levels({{0, 6'000'000'000}, {2000, 0}}));
  CHECK(load(counters, LinkKind::nic) == levels({{0, 200}, {2000, 0}}));  // 4 GB/s * 50 ps/B
  CHECK(load(counters, LinkKind::nvlink).empty());
  CHECK(counters.buckets_waiting.empty());
}

TEST_CASE(
    "step counters: link loads are unknown if NCCL chose nothing, a switch reduces, or no wires "
    "are "
    "known") {
  for (const std::optional<Algorithm> algorithm :
       {std::optional<Algorithm>(), std::optional(Algorithm::nvls)}) {
    const StepCounters counters = step_counters({bucket(0, 0, 0, 2000, algorithm)}, four_ranks());
    CHECK(counters.bus_bandwidth.size() == 2);
    for (const CounterLevels& one : counters.link_load) CHECK(one.empty());
  }
  const Job no_wires = small::on(small::node(4), AnalyticModel{});
  CHECK(load(step_counters({bucket(0, 0, 0, 2000, Algorithm::ring)}, no_wires), LinkKind::nvlink)
            .empty());
}

TEST_CASE("step counters: consecutive buckets leave no gap, simultaneous ones add up") {
  const StepCounters counters = step_counters(
      {bucket(0, 10, 10, 2010, Algorithm::ring), bucket(5, 2010, 2010, 4010, Algorithm::ring),
       bucket(6, 3010, 3010, 5010, Algorithm::ring)},
      four_ranks());
  CHECK(counters.buckets_waiting ==
        levels({{0, 1}, {5, 2}, {6, 3}, {10, 2}, {2010, 1}, {3010, 0}}));
  CHECK(counters.bytes_in_flight ==
        levels({{10, 8'000'000}, {3010, 16'000'000}, {4010, 8'000'000}, {5010, 0}}));
  CHECK(load(counters, LinkKind::nic) == levels({{10, 600}, {3010, 1200}, {4010, 600}, {5010, 0}}));
}

TEST_CASE("step counters: a bucket that takes no time is not counted") {
  const StepCounters counters = step_counters({bucket(7, 7, 7, 7, Algorithm::ring)}, four_ranks());
  CHECK(counters.buckets_waiting.empty());
  CHECK(counters.bytes_in_flight.empty());
  CHECK(counters.bus_bandwidth.empty());
}
