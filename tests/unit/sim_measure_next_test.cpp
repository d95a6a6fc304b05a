#include "measure_next.hpp"

#include <doctest/doctest.h>

#include "worlds.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Buckets of 3 MB and 5 MB with the limits below.
Workload two_buckets() {
  return worlds::chain({{3'000'000, 40}, {5'000'000, 100}}, 50, 100);
}

SimulationOptions limits() {
  SimulationOptions options;
  options.ddp.bucket_cap_mb = 1;
  return options;
}

std::optional<NextMeasurement> next(const std::vector<Deviation>& deviations,
                                    const Cluster& cluster, Duration predicted = 1000_us) {
  return measure_next(deviations, {5_us, -5_us}, predicted, two_buckets(), cluster, limits());
}

}  // namespace

TEST_CASE("measure next: the source that widens the interval most names the measurement") {
  const Cluster cluster = worlds::node(8);
  const Deviation collectives{kCollectiveTimes, 40_us};
  const Deviation costs{kCosts, -20_us};
  REQUIRE(next({collectives, costs}, cluster));
  CHECK(next({collectives, costs}, cluster)->source == kCollectiveTimes);
  CHECK(next({{kCollectiveTimes, 10_us}, costs}, cluster)->source == kCosts);
  CHECK(next({{kCollectiveTimes, 10_us}, {kComputeScale, -60_us}}, cluster)->command ==
        "profile one step on one V100 of this cluster");
}

TEST_CASE("measure next: all_reduce_perf spans the buckets, rounded outwards to powers of two") {
  const Deviation collectives{kCollectiveTimes, 40_us};
  CHECK(next({collectives}, worlds::node(8))->command == "all_reduce_perf -b 2M -e 8M -f 2 -g 8");
  Cluster cluster = worlds::node(4);
  cluster.nodes = 2;
  CHECK(next({collectives}, cluster)->command ==
        "mpirun -np 8 -N 4 all_reduce_perf -b 2M -e 8M -f 2 -g 1");
}

TEST_CASE("measure next: gloo is measured with what runs gloo, or by today's step on one rank") {
  const auto gloo = [](const Cluster& cluster) {
    return measure_next({{kCollectiveTimes, 40_us}}, {5_us, -5_us}, 1000_us,
                        worlds::chain({{3'000'000, 40}, {9'000'000, 100}}, 50, 100), cluster,
                        limits(), Backend::gloo);
  };
  CHECK(gloo(worlds::node(8))->command ==
        "ddpsim-real WORKLOAD --backend c10d-gloo --all-reduce 4MiB,16MiB");
  CHECK(gloo(worlds::node(1))->then == "ddpsim simulate WORKLOAD CLUSTER --measured-step TIME");
}

TEST_CASE("measure next: nothing where no single source is worth a run") {
  const Cluster cluster = worlds::node(8);
  CHECK(next({}, cluster) == std::nullopt);
  CHECK(next({{kCosts, 1_us}}, cluster) == std::nullopt);
  CHECK(next({{kCosts, Duration()}, {kCollectiveTimes, Duration()}}, cluster) == std::nullopt);
}
