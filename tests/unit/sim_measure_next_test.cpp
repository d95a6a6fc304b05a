#include "measure_next.hpp"

#include <doctest/doctest.h>

#include <memory>

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
  const Deviation collectives{kBandwidth, 40_us};
  const Deviation costs{kCosts, -20_us};
  REQUIRE(next({collectives, costs}, cluster));
  CHECK(next({collectives, costs}, cluster)->source == kBandwidth);
  CHECK(next({{kBandwidth, 10_us}, costs}, cluster)->source == kCosts);
  CHECK(next({{kBandwidth, 10_us}, {kComputeScale, -60_us}}, cluster)->command ==
        "profile one step on one V100 of this cluster");
}

TEST_CASE("measure next: all_reduce_perf spans the buckets, rounded outwards to powers of two") {
  const Deviation collectives{kBandwidth, 40_us};
  CHECK(next({collectives}, worlds::node(8))->command == "all_reduce_perf -b 1M -e 8M -f 2 -g 8");
  Cluster cluster = worlds::node(4);
  cluster.nodes = 2;
  CHECK(next({collectives}, cluster)->command ==
        "mpirun -np 8 -N 4 all_reduce_perf -b 1M -e 8M -f 2 -g 1");
}

TEST_CASE("measure next: the fixed cost shows at small sizes, whatever the buckets") {
  const Deviation fixed{kFixedCost, 40_us};
  CHECK(next({fixed, {kBandwidth, 10_us}}, worlds::node(8))->source == kFixedCost);
  CHECK(next({fixed}, worlds::node(8))->command == "all_reduce_perf -b 1K -e 32K -f 2 -g 8");
  Calibration calibration;
  calibration.scales = {{.nodes = 1,
                         .gpus_per_node = 8,
                         .smallest = Bytes(1 << 20),
                         .largest = Bytes(1 << 30),
                         .source = "large.txt",
                         .nccl = {}}};
  Cluster cluster = worlds::node(8);
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  CHECK(next({fixed}, cluster)->source == kFixedCost);
  CHECK(next({{kBandwidth, 40_us}}, cluster) == std::nullopt);
}

TEST_CASE("measure next: all_reduce_perf spans the four sizes that a fit needs at least") {
  const auto range = [](Bytes size) {
    return measure_all_reduces(kBandwidth, {size}, worlds::node(8))->command;
  };
  CHECK(range(Bytes(8)) == "all_reduce_perf -b 8 -e 64 -f 2 -g 8");
  CHECK(range(Bytes(16 << 20)) == "all_reduce_perf -b 4M -e 32M -f 2 -g 8");
  CHECK(range(Bytes(25'000'000)) == "all_reduce_perf -b 8M -e 64M -f 2 -g 8");
}

TEST_CASE("measure next: of a calibrated cluster, what its logs have not, beside all of them") {
  Calibration calibration;
  calibration.scales = {{.nodes = 1,
                         .gpus_per_node = 8,
                         .smallest = Bytes(8),
                         .largest = Bytes(1 << 22),
                         .source = "n1.txt",
                         .nccl = {}},
                        {.nodes = 4,
                         .gpus_per_node = 8,
                         .smallest = Bytes(8),
                         .largest = Bytes(1 << 30),
                         .source = "n4.txt",
                         .nccl = {}}};
  Cluster cluster = worlds::node(8);
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  const auto larger = measure_all_reduces(kBandwidth, {Bytes(1 << 20), Bytes(1 << 25)}, cluster);
  REQUIRE(larger);
  CHECK(larger->then ==
        "ddpsim calibrate LOG n1.txt@1x8 n4.txt@4x8 --cluster CLUSTER -o CALIBRATED");
  CHECK(measure_all_reduces(kBandwidth, {Bytes(1 << 20), Bytes(1 << 22)}, cluster) == std::nullopt);
  const Deviation collectives{kBandwidth, 40_us};
  CHECK(next({collectives}, cluster)->source == kBandwidth);  // a bucket of 5 MB
  cluster.nodes = 4;
  CHECK(next({collectives}, cluster) == std::nullopt);
  CHECK(next({collectives, {kCosts, 20_us}}, cluster)->source == kCosts);
}

TEST_CASE("measure next: gloo is measured with what runs gloo, or by today's step on one rank") {
  const auto gloo = [](const Cluster& cluster) {
    return measure_next({{kBandwidth, 40_us}}, {5_us, -5_us}, 1000_us,
                        worlds::chain({{3'000'000, 40}, {9'000'000, 100}}, 50, 100), cluster,
                        limits(), Backend::gloo);
  };
  const auto here = gloo(worlds::node(8));
  CHECK(here->command ==
        "ddpsim-real WORKLOAD --backend cpu-gloo --all-reduce 1KiB,4MiB,16MiB --ranks 8");
  // Through each process 2 * 7/8 of 16 MiB; 14 steps and a start.
  CHECK(here->then ==
        "--gloo \"start:T step:T process:R\", T = time of 1KiB / 15, R = 29.36 MB / time of 16MiB");
  Cluster two = worlds::node(8);
  two.nodes = 2;
  CHECK(gloo(two)->command.starts_with(
      "mpirun -np 16 --map-by ppr:8:node -x MASTER_ADDR=HOST0 ddpsim-real WORKLOAD"));
  CHECK(gloo(worlds::node(1))->then == "ddpsim simulate WORKLOAD CLUSTER --measured-step TIME");
}

TEST_CASE("measure next: nothing where no single source is worth a run") {
  const Cluster cluster = worlds::node(8);
  CHECK(next({}, cluster) == std::nullopt);
  CHECK(next({{kCosts, 1_us}}, cluster) == std::nullopt);
  CHECK(next({{kCosts, Duration()}, {kBandwidth, Duration()}}, cluster) == std::nullopt);
}
