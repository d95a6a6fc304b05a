#include "measured_sizes.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "ddpsim/sim/allreduce_table.hpp"
#include "ddpsim/sim/collective.hpp"
#include "ddpsim/sim/tune.hpp"
#include "worlds.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// One node of eight, with a log of 8 B to `largest`.
Cluster measured_up_to(std::int64_t largest) {
  Calibration calibration;
  calibration.constants = constants_of(worlds::node(8));
  calibration.misfit = {.small = 0.1, .middle = 0.1, .large = 0.1};
  calibration.scales = {{.nodes = 1,
                         .gpus_per_node = 8,
                         .smallest = Bytes(8),
                         .largest = Bytes(largest),
                         .source = "n1.txt",
                         .nccl = {}}};
  Cluster cluster = worlds::node(8);
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  return cluster;
}

Confidence graded(const std::vector<Bytes>& sizes, const Cluster& cluster) {
  Confidence confidence;
  confidence.grade = Grade::b;
  grade_by_sizes(confidence, sizes, "buckets", cluster);
  return confidence;
}

}  // namespace

TEST_CASE(
    "measured sizes: most bytes far outside all logs are grade C, with "
    "what to run") {
  const Confidence far = graded({Bytes(25 << 20), Bytes(8 << 20)}, measured_up_to(256));
  CHECK(far.grade == Grade::c);
  REQUIRE(far.because.size() == 1);
  CHECK(far.because.front() ==
        "no log covers buckets of 8 MiB to 25 MiB; run "
        "all_reduce_perf -b 4M -e 32M -f 2 -g 8");
  REQUIRE(far.measure_next);
  CHECK(far.measure_next->command == "all_reduce_perf -b 4M -e 32M -f 2 -g 8");
  // Up to four times the last size, and for the lesser part of the bytes, the
  // grade stays.
  CHECK(graded({Bytes(1024)}, measured_up_to(256)).grade == Grade::b);
  CHECK(graded({Bytes(1025)}, measured_up_to(256)).grade == Grade::c);
  CHECK(graded({Bytes(8 << 20), Bytes(8 << 20), Bytes(1)}, measured_up_to(1 << 23)).grade ==
        Grade::b);
  CHECK(graded({Bytes(25 << 20)}, worlds::node(8)).because.empty());
}

TEST_CASE("measured sizes: a log of one node says nothing of sizes between nodes") {
  Cluster cluster = measured_up_to(1 << 30);
  Calibration calibration = *cluster.calibration;
  calibration.scales.push_back(calibration.scales.front());
  calibration.scales.back().nodes = 2;
  calibration.scales.back().largest = Bytes(256);
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  CHECK(graded({Bytes(25 << 20)}, cluster).grade == Grade::b);
  cluster.nodes = 2;
  CHECK(graded({Bytes(25 << 20)}, cluster).grade == Grade::c);
}

TEST_CASE("measured sizes: steps and tables of all-reduces have the grade") {
  const Workload workload = worlds::chain({{3'000'000, 40}, {5'000'000, 100}}, 50, 100);
  for (const bool far : {true, false}) {
    CAPTURE(far);
    const Grade grade = far ? Grade::c : Grade::b;
    const Cluster cluster = measured_up_to(far ? 256 : 1 << 30);
    const std::vector<Bytes> sizes = {Bytes(1 << 10), Bytes(1 << 20)};
    CHECK(all_reduce_table(cluster, {}, sizes).confidence.grade == grade);
    CHECK(assess(workload, cluster, {}, AnalyticModel{.cluster = cluster, .tuning = {}}, 1000_us,
                 std::nullopt)
              .grade == grade);
  }
}
