#include "measured_sizes.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/collectives/collective_model.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "small_jobs.hpp"
#include "uncertainty.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// One node of eight, with a log of 8 B to `largest`.
Cluster measured_up_to(std::int64_t largest) {
  Calibration calibration;
  calibration.constants = constants_of(small::node(8));
  calibration.residual_deviation = {.small = 0.1, .middle = 0.1, .large = 0.1};
  calibration.shapes = {{.nodes = 1,
                         .gpus_per_node = 8,
                         .smallest = Bytes(8),
                         .largest = Bytes(largest),
                         .source = "n1.txt",
                         .nccl = {}}};
  Cluster cluster = small::node(8);
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

TEST_CASE("measured sizes: most bytes far outside all logs give grade C, with what to run") {
  const Confidence far = graded({Bytes(25 << 20), Bytes(8 << 20)}, measured_up_to(256));
  CHECK(far.grade == Grade::c);
  REQUIRE(far.because.size() == 1);
  CHECK(far.because.front() ==
        "no log covers buckets of 8 MiB to 25 MiB; run "
        "all_reduce_perf -b 4M -e 32M -f 2 -g 8");
  REQUIRE(far.measure_next);
  CHECK(far.measure_next->command == "all_reduce_perf -b 4M -e 32M -f 2 -g 8");
  // The grade stays up to four times the last size, and for the smaller part of the bytes.
  CHECK(graded({Bytes(1024)}, measured_up_to(256)).grade == Grade::b);
  CHECK(graded({Bytes(1025)}, measured_up_to(256)).grade == Grade::c);
  CHECK(graded({Bytes(8 << 20), Bytes(8 << 20), Bytes(1)}, measured_up_to(1 << 23)).grade ==
        Grade::b);
  CHECK(graded({Bytes(25 << 20)}, small::node(8)).because.empty());
}

TEST_CASE("measured sizes: a log of one node tells nothing about sizes between nodes") {
  Cluster cluster = measured_up_to(1 << 30);
  Calibration calibration = *cluster.calibration;
  calibration.shapes.push_back(calibration.shapes.front());
  calibration.shapes.back().nodes = 2;
  calibration.shapes.back().largest = Bytes(256);
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  CHECK(graded({Bytes(25 << 20)}, cluster).grade == Grade::b);
  cluster.nodes = 2;
  CHECK(graded({Bytes(25 << 20)}, cluster).grade == Grade::c);
}

TEST_CASE("measured sizes: steps and tables of all-reduces get the grade") {
  const Workload workload = small::chain({{3'000'000, 40}, {5'000'000, 100}}, 50, 100);
  for (const bool far : {true, false}) {
    CAPTURE(far);
    const Grade grade = far ? Grade::c : Grade::b;
    const Cluster cluster = measured_up_to(far ? 256 : 1 << 30);
    const std::vector<Bytes> sizes = {Bytes(1 << 10), Bytes(1 << 20)};
    CHECK(all_reduce_table(cluster, {}, sizes).confidence.grade == grade);
    CHECK(assess(Job(workload, cluster, {}, AnalyticModel{}), {.iteration = 1000_us}, std::nullopt)
              .grade == grade);
  }
}

TEST_CASE("measured sizes: a log counts up to four times beyond its sizes, either way") {
  Cluster cluster = measured_up_to(1 << 20);
  Calibration calibration = *cluster.calibration;
  calibration.shapes.front().smallest = 64_KiB;
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  CHECK(graded({16_KiB}, cluster).grade == Grade::b);
  CHECK(graded({16_KiB - 1_B}, cluster).grade == Grade::c);
  CHECK(graded({4_MiB}, cluster).grade == Grade::b);
  CHECK(graded({4_MiB + 1_B}, cluster).grade == Grade::c);
  CHECK(graded({Bytes()}, cluster).grade == Grade::b);  // nothing is sent
}

TEST_CASE("measured sizes: half of the bytes outside all logs do not change the grade") {
  const Cluster cluster = measured_up_to(1 << 20);
  CHECK(graded({4_MiB, 4_MiB, 8_MiB}, cluster).grade == Grade::b);
  CHECK(graded({4_MiB, 4_MiB, 8_MiB + 1_B}, cluster).grade == Grade::c);
}

TEST_CASE("measured sizes: if only the other kind of log exists, its sizes count") {
  Cluster cluster = measured_up_to(1 << 20);
  cluster.nodes = 2;
  CHECK(graded({1_MiB}, cluster).grade == Grade::b);
  CHECK(graded({25_MiB}, cluster).grade == Grade::c);
}

TEST_CASE("measured sizes: the reason comes second and names the range of sizes") {
  const auto said = [](const std::vector<Bytes>& sizes) {
    Confidence confidence;
    confidence.because = {"first", "third"};
    grade_by_sizes(confidence, sizes, "all-reduces", measured_up_to(8));
    REQUIRE(confidence.because.size() == 3);
    CHECK(confidence.because[0] == "first");
    CHECK(confidence.because[2] == "third");
    CHECK(confidence.because[1] == confidence.basis + "; run " + confidence.measure_next->command);
    CHECK(confidence.measure_next->source == ErrorSource::collective_times);
    return confidence.basis;
  };
  CHECK(said({Bytes(1023)}) == "no log covers all-reduces of 1023 B");
  CHECK(said({1_KiB, 1_KiB}) == "no log covers all-reduces of 1 KiB");
  CHECK(said({2048_MiB, 1536_KiB, 3_MiB}) == "no log covers all-reduces of 1.5 MiB to 2 GiB");
  CHECK(said({1020_KiB, Bytes(4), 1_MiB}) == "no log covers all-reduces of 1020 KiB to 1 MiB");
  CHECK(said({1000_MiB}) == "no log covers all-reduces of 1000 MiB");
}

TEST_CASE("measured sizes: one rank sends nothing that a log could cover") {
  Cluster cluster = measured_up_to(8);
  cluster.gpus_per_node = 1;
  CHECK(graded({25_MiB}, cluster).grade == Grade::b);
  CHECK(graded({}, measured_up_to(8)).grade == Grade::b);
}

TEST_CASE("measured sizes: the number of measured nodes depends on network and GPU generation") {
  const auto most = [](NetworkKind kind, int capability) {
    Cluster cluster = small::node(8);
    cluster.network.kind = kind;
    cluster.gpu.compute_capability = capability;
    return most_nodes_measured(cluster);
  };
  for (const NetworkKind kind : {NetworkKind::infiniband, NetworkKind::roce}) {
    CHECK(most(kind, 70) == 8);
    CHECK(most(kind, 75) == 8);
    CHECK(most(kind, 80) == 8);
    CHECK(most(kind, 60) == 2);
    CHECK(most(kind, 90) == 2);
  }
  CHECK(most(NetworkKind::slingshot, 80) == 540);
  CHECK(most(NetworkKind::slingshot, 90) == 128);
  CHECK(most(NetworkKind::slingshot, 70) == 2);
  CHECK(most(NetworkKind::tcp, 80) == 2);
  CHECK(most(NetworkKind::efa, 80) == 2);
}
