#include "measure_next.hpp"
#include "ddpsim/sim/ddp/all_reduce_sizes.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Buckets of 3 MB and 5 MB with the limits below.
Workload two_buckets() {
  return small::chain({{3'000'000, 40}, {5'000'000, 100}}, 50, 100);
}

SimulationOptions limits() {
  SimulationOptions options;
  options.ddp_to_set().bucket_cap_mb = 1;
  return options;
}

Sensitivity by(ErrorSource source, Duration deviation) {
  return sensitivity(source, deviation, deviation);
}

/// Together with 5 us of noise on either side.
std::optional<NextMeasurement> next(std::vector<Sensitivity> sensitivities, const Cluster& cluster,
                                    Duration predicted = 1000_us) {
  sensitivities.push_back(sensitivity(ErrorSource::measurement_noise, -5_us, 5_us));
  return measure_next(sensitivities, predicted,
                      Job(two_buckets(), cluster, limits(), AnalyticModel{}));
}

}  // namespace

TEST_CASE("measure next: the source that widens the interval most names the measurement") {
  const Cluster cluster = small::node(8);
  const Sensitivity collectives = by(ErrorSource::bandwidth, 40_us);
  const Sensitivity costs = by(ErrorSource::ddp_costs, -20_us);
  REQUIRE(next({collectives, costs}, cluster));
  CHECK(next({collectives, costs}, cluster)->source == ErrorSource::bandwidth);
  CHECK(next({by(ErrorSource::bandwidth, 10_us), costs}, cluster)->source ==
        ErrorSource::ddp_costs);
  CHECK(next({by(ErrorSource::bandwidth, 10_us), by(ErrorSource::compute_scale, -60_us)}, cluster)
            ->command == "profile one step on one V100 of this cluster");
}

TEST_CASE("measure next: all_reduce_perf spans the buckets, rounded outwards to powers of two") {
  const Sensitivity collectives = by(ErrorSource::bandwidth, 40_us);
  CHECK(next({collectives}, small::node(8))->command == "all_reduce_perf -b 1M -e 8M -f 2 -g 8");
  Cluster cluster = small::node(4);
  cluster.nodes = 2;
  CHECK(next({collectives}, cluster)->command ==
        "mpirun -np 8 -N 4 all_reduce_perf -b 1M -e 8M -f 2 -g 1");
}

TEST_CASE("measure next: the fixed cost shows at small sizes, whatever the buckets") {
  const Sensitivity fixed = by(ErrorSource::fixed_cost, 40_us);
  CHECK(next({fixed, by(ErrorSource::bandwidth, 10_us)}, small::node(8))->source ==
        ErrorSource::fixed_cost);
  CHECK(next({fixed}, small::node(8))->command == "all_reduce_perf -b 1K -e 32K -f 2 -g 8");
  Calibration calibration;
  calibration.shapes = {{.nodes = 1,
                         .gpus_per_node = 8,
                         .smallest = Bytes(1 << 20),
                         .largest = Bytes(1 << 30),
                         .source = "large.txt",
                         .nccl = {}}};
  Cluster cluster = small::node(8);
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  CHECK(next({fixed}, cluster)->source == ErrorSource::fixed_cost);
  CHECK(next({by(ErrorSource::bandwidth, 40_us)}, cluster) == std::nullopt);
}

TEST_CASE("measure next: all_reduce_perf spans at least the four sizes that a fit needs") {
  const auto range = [](Bytes size) {
    return measure_all_reduces(ErrorSource::bandwidth, {size}, small::node(8))->command;
  };
  CHECK(range(Bytes(8)) == "all_reduce_perf -b 8 -e 64 -f 2 -g 8");
  CHECK(range(Bytes(16 << 20)) == "all_reduce_perf -b 4M -e 32M -f 2 -g 8");
  CHECK(range(Bytes(25'000'000)) == "all_reduce_perf -b 8M -e 64M -f 2 -g 8");
}

TEST_CASE(
    "measure next: a calibrated cluster needs what its logs lack, together with all of them") {
  Calibration calibration;
  calibration.shapes = {{.nodes = 1,
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
  Cluster cluster = small::node(8);
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  const auto larger =
      measure_all_reduces(ErrorSource::bandwidth, {Bytes(1 << 20), Bytes(1 << 25)}, cluster);
  REQUIRE(larger);
  CHECK(larger->then ==
        "ddpsim calibrate LOG n1.txt@1x8 n4.txt@4x8 --cluster CLUSTER -o CALIBRATED");
  CHECK(measure_all_reduces(ErrorSource::bandwidth, {Bytes(1 << 20), Bytes(1 << 22)}, cluster) ==
        std::nullopt);
  const Sensitivity collectives = by(ErrorSource::bandwidth, 40_us);
  CHECK(next({collectives}, cluster)->source == ErrorSource::bandwidth);  // a bucket of 5 MB
  cluster.nodes = 4;
  CHECK(next({collectives}, cluster) == std::nullopt);
  CHECK(next({collectives, by(ErrorSource::ddp_costs, 20_us)}, cluster)->source ==
        ErrorSource::ddp_costs);
}

TEST_CASE(
    "measure next: gloo is measured with a program that runs gloo, or by the step of one "
    "rank") {
  const auto gloo = [](const Cluster& cluster) {
    return measure_next({by(ErrorSource::bandwidth, 40_us)}, 1000_us,
                        Job(small::chain({{3'000'000, 40}, {9'000'000, 100}}, 50, 100), cluster,
                            limits(), GlooModel{}));
  };
  const auto here = gloo(small::node(8));
  CHECK(here->command ==
        "ddpsim-real WORKLOAD --backend cpu-gloo --all-reduce 1KiB,4MiB,16MiB -o FOLDER --ranks 8");
  CHECK(here->then == "ddpsim calibrate FOLDER/measurement.json --cluster CLUSTER -o CALIBRATED");
  // Logs of eight ranks and of buckets this large leave nothing to measure; logs of smaller buckets
  // do.
  Cluster timed = small::node(8);
  GlooCalibration logs{.deviation = {0.1, 0.1, 0.1},
                       .logs = {{.gpus_per_node = 8, .largest = Bytes(9'000'000)}}};
  timed.gloo = std::make_shared<const GlooCalibration>(logs);
  CHECK(gloo(timed) == std::nullopt);
  logs.logs[0].largest = Bytes(2'000'000);
  timed.gloo = std::make_shared<const GlooCalibration>(logs);
  CHECK(gloo(timed)->command == here->command);
  Cluster two = small::node(8);
  two.nodes = 2;
  CHECK(gloo(two)->command.starts_with(
      "mpirun -np 16 --map-by ppr:8:node -x MASTER_ADDR=HOST0 ddpsim-real WORKLOAD"));
  CHECK(gloo(small::node(1))->then == "ddpsim simulate WORKLOAD CLUSTER --measured-step TIME");
}

TEST_CASE("measure next: nothing if no single source is worth a run") {
  const Cluster cluster = small::node(8);
  CHECK(next({}, cluster) == std::nullopt);
  CHECK(next({by(ErrorSource::ddp_costs, 1_us)}, cluster) == std::nullopt);
  CHECK(next({by(ErrorSource::ddp_costs, Duration()), by(ErrorSource::bandwidth, Duration())},
             cluster) == std::nullopt);
}

TEST_CASE("measure next: every source has its command, and the command that uses the result") {
  const auto of = [](ErrorSource source) { return *next({by(source, 40_us)}, small::node(8)); };
  const auto check = [&](ErrorSource source, const std::string& command, const std::string& then) {
    const NextMeasurement measurement = of(source);
    CHECK(measurement.source == source);
    CHECK(measurement.command == command);
    CHECK(measurement.then == then);
  };
  const std::string calibrate = "ddpsim calibrate LOG --cluster CLUSTER -o CALIBRATED";
  const std::string import = "ddpsim import TRACE -o WORKLOAD";
  const std::string under_ddp = "profile one step of this job under DDP, on rank 0 of this cluster";
  check(ErrorSource::fixed_cost, "all_reduce_perf -b 1K -e 32K -f 2 -g 8", calibrate);
  check(ErrorSource::bandwidth, "all_reduce_perf -b 1M -e 8M -f 2 -g 8", calibrate);
  check(ErrorSource::collective_times, "all_reduce_perf -b 1M -e 8M -f 2 -g 8", calibrate);
  check(ErrorSource::rank_slowdown,
        "time twenty steps of this job on this cluster, without a profiler",
        "ddpsim simulate WORKLOAD CLUSTER --measured-step TIME");
  check(ErrorSource::compute_scale, "profile one step on one V100 of this cluster", import);
  check(ErrorSource::replay_residual, "profile one step on every rank",
        "ddpsim import RANK... -o WORKLOAD");
  Workload joined = two_buckets();
  joined.recorded_with.world_size = 8;
  joined.ranks.resize(8);
  const auto profiled = [&] {
    return measure_next({by(ErrorSource::replay_residual, 40_us)}, 1000_us,
                        Job(joined, small::node(8), limits(), AnalyticModel{}))
        ->command;
  };
  CHECK(profiled() == "record a step with ddpsim_recorder.py in place of the profiler");
  joined.ranks.pop_back();
  CHECK(profiled() == "profile one step on every rank");
  check(ErrorSource::interference, under_ddp, import);
  check(ErrorSource::ddp_costs, under_ddp, import);
}

TEST_CASE(
    "measure next: a source is worth a run if it narrows the interval by over 0.2 % of the "
    "step") {
  const auto worth = [](const std::vector<Sensitivity>& sensitivities) {
    const auto found = measure_next(sensitivities, 1000_us,
                                    Job(two_buckets(), small::node(8), limits(), AnalyticModel{}));
    return found ? std::optional(found->source) : std::nullopt;
  };
  CHECK(worth({by(ErrorSource::ddp_costs, 2_us)}) == std::nullopt);
  CHECK(worth({by(ErrorSource::ddp_costs, 2.001_us)}) == ErrorSource::ddp_costs);
  CHECK(worth({sensitivity(ErrorSource::ddp_costs, 1_us, -1_us)}) == std::nullopt);
  CHECK(worth({sensitivity(ErrorSource::ddp_costs, 1_us, -1.001_us)}) ==
        ErrorSource::ddp_costs);  // both ends move
  // The wider one counts, not the further one; of two equally wide, the first.
  CHECK(worth({by(ErrorSource::compute_scale, 50_us),
               sensitivity(ErrorSource::ddp_costs, 30_us, -30_us)}) == ErrorSource::ddp_costs);
  CHECK(worth({by(ErrorSource::ddp_costs, 30_us), by(ErrorSource::compute_scale, -30_us)}) ==
        ErrorSource::ddp_costs);
  CHECK(worth({by(ErrorSource::compute_scale, -30_us), by(ErrorSource::ddp_costs, 30_us)}) ==
        ErrorSource::compute_scale);
  // 5 us on either side remain: sqrt(25 + 24) - 5 are two.
  CHECK_FALSE(next({by(ErrorSource::ddp_costs, 4.898_us)}, small::node(8)));
  CHECK(next({by(ErrorSource::ddp_costs, 4.9_us)}, small::node(8)));
}

TEST_CASE("measure next: all_reduce_perf's sizes, in its own units") {
  const auto range = [](const std::vector<Bytes>& sizes) {
    const std::string command =
        measure_all_reduces(ErrorSource::bandwidth, sizes, small::node(8))->command;
    return command.substr(16, command.find(" -f") - 16);
  };
  CHECK(range({2048_MiB}) == "-b 512M -e 4G");
  CHECK(range({1024_MiB, 16384_MiB}) == "-b 1G -e 16G");
  CHECK(range({Bytes(1000), Bytes(1500)}) == "-b 256 -e 2K");
  CHECK(range({Bytes(1023), Bytes(9000)}) == "-b 512 -e 16K");
  CHECK(range({Bytes(), Bytes(3)}) == "-b 8 -e 64");
  CHECK(range({}) == "-b 8 -e 64");
  CHECK(range({8_KiB, 1_KiB}) == "-b 1K -e 8K");
  CHECK_FALSE(measure_all_reduces(ErrorSource::bandwidth, {1_MiB}, small::node(1)));
}

TEST_CASE("measure next: sizes are those on the wire, bucket by bucket") {
  SimulationOptions options = limits();
  const auto sent = [&] {
    return all_reduce_sizes(Job(two_buckets(), small::node(2), options, FreeModel{}));
  };
  CHECK(sent() == std::vector<Bytes>{Bytes(3'000'000), Bytes(5'000'000)});
  options.ddp_to_set().comm_hook = CommHook::bf16_compress;
  CHECK(sent() == std::vector<Bytes>{Bytes(1'500'000), Bytes(2'500'000)});
  options.ddp_to_set().comm_hook = CommHook::none;
  options.buckets = steady_buckets(two_buckets(), {.bucket_cap_mb = 25}, {});
  CHECK(sent() == std::vector<Bytes>{Bytes(8'000'000)});
}

TEST_CASE(
    "measure next: gloo's fixed cost shows at 1 and 32 KiB, and small buckets at 1 and 64 KiB") {
  const auto gloo = [](ErrorSource source, const Workload& workload) {
    return *measure_next({by(source, 40_us)}, 1000_us,
                         Job(workload, small::node(4), limits(), GlooModel{}));
  };
  const NextMeasurement fixed =
      gloo(ErrorSource::collective_times, small::chain({{40, 40}}, 50, 40));
  // One size could not be fitted.
  CHECK(fixed.command ==
        "ddpsim-real WORKLOAD --backend cpu-gloo --all-reduce 1KiB,64KiB -o FOLDER --ranks 4");
  CHECK(gloo(ErrorSource::fixed_cost, two_buckets()).command ==
        "ddpsim-real WORKLOAD --backend cpu-gloo --all-reduce 1KiB,32KiB -o FOLDER --ranks 4");
}
