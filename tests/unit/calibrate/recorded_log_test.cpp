// A training's own all-reduces as a log, and how much less they weigh than those of
// all_reduce_perf.
#include "ddpsim/calibrate/logs/recorded_log.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Cluster dgx1v(JobShape shape) {
  return load_cluster(
      {.text = "dgx1v", .nodes = shape.nodes, .gpus_per_node = shape.gpus_per_node});
}

/// Eight ranks; the second arrives last. Transfers of 86, 20 and 69 us, as measured on eight V100s
/// of one node.
Workload joined() {
  Workload workload;
  workload.gpu = "V100";
  workload.name = "dlrm";
  workload.recorded_with.world_size = 8;
  workload.recorded_with.nccl_kernels = 3;
  const auto add = [](Recorded& recorded, Bytes bytes, Duration time) {
    recorded.recorded_with.collectives.push_back(
        {.bytes = bytes, .launch = {}, .start = {}, .duration = time, .channels = 12});
  };
  const auto record = [&](Recorded& recorded, Duration wait) {
    add(recorded, Bytes(1576964), 86_us + wait);
    add(recorded, Bytes(448), 20_us + wait);
    add(recorded, Bytes(907840), 69_us + wait);
  };
  record(workload, 500_us);
  workload.ranks.resize(8);
  for (RankRecording& rank : workload.ranks)
    record(rank, &rank == &workload.ranks[1] ? Duration() : 500_us);
  return workload;
}

Fit fitted(const MeasuredLog& log) {
  return fit_calibration({log}, dgx1v, {.nccl = NcclVersion{2, 10, 3}});
}

}  // namespace

TEST_CASE("recorded log: joined ranks give transfers, one rank its shortest times") {
  const MeasuredLog log = recorded_log(joined(), {1, 8}).value();
  CHECK(log.timed_by == TimedBy::joined_ranks);
  CHECK(log.ranks == 8);
  CHECK(log.gpu == "V100");
  REQUIRE(log.points.size() == 3);
  CHECK(log.points[0].time_us == 86);

  Workload alone = joined();
  alone.ranks.clear();
  alone.steps.push_back({.name = "1",
                         .forward = {},
                         .backward = {},
                         .iteration = {},
                         .collectives = alone.recorded_with.collectives});
  alone.steps.push_back(alone.steps.front());
  alone.steps[1].collectives[0].duration = 200_us;
  const MeasuredLog one = recorded_log(alone, {1, 8}).value();
  CHECK(one.timed_by == TimedBy::one_rank);
  CHECK(one.points[0].time_us == 200);
  CHECK(one.points[1].time_us == 520);
}

TEST_CASE("recorded log: a missing rank may have been the last") {
  Workload most = joined();
  most.ranks.pop_back();
  const MeasuredLog log = recorded_log(most, {1, 8}).value();
  CHECK(log.timed_by == TimedBy::one_rank);
  CHECK(log.recognised ==
        std::vector<std::string>{"3 all-reduces of 7 of 8 ranks, including waits for the others"});
}

TEST_CASE("recorded log: slow transfers are the job's own and are accepted") {
  Workload slow = joined();
  for (RankRecording& rank : slow.ranks)
    for (RecordedCollective& one : rank.recorded_with.collectives)
      one.duration = one.duration.scaled(4);
  const Fit fit = fitted(recorded_log(slow, {1, 8}).value());
  CHECK(fit.left_out.empty());
  for (const FitResidual& row : fit.residuals)
    CHECK(row.calibrated_us == doctest::Approx(row.measured_us).epsilon(0.15));
}

TEST_CASE("recorded log: times that no link of the cluster can carry calibrate nothing") {
  Workload other = joined();
  for (RankRecording& rank : other.ranks)
    for (RecordedCollective& one : rank.recorded_with.collectives) {
      one.bytes = Bytes(1 << 28);
      one.duration = 100_us;
    }
  other.recorded_with.collectives = other.ranks[0].recorded_with.collectives;
  CHECK_THROWS_AS(fitted(recorded_log(other, {1, 8}).value()), InputError);
}

TEST_CASE("recorded log: absent without all-reduces and for one GPU") {
  CHECK_FALSE(recorded_log({}, {1, 1}));
  Workload one = joined();
  one.recorded_with.world_size = 1;
  CHECK_FALSE(recorded_log(one, {1, 1}));
}

TEST_CASE("recorded log: three transfers calibrate within their noise") {
  const Fit fit = fitted(recorded_log(joined(), {1, 8}).value());
  for (const FitResidual& row : fit.residuals)
    CHECK(row.calibrated_us == doctest::Approx(row.measured_us).epsilon(0.05));
  CHECK(fit.calibration.repeatability.large == doctest::Approx(0.1));
  CHECK(fit.calibration.residual_deviation.large >= 0.1);
  Cluster cluster = dgx1v({1, 8});
  cluster.calibration = std::make_shared<const Calibration>(fit.calibration);
  CHECK(grade_of(cluster, true) == Grade::b);  // never A: all_reduce_perf was not run
  CHECK(calibration_of(cluster) ==
        "the cluster is calibrated with the recorded all-reduces of joined ranks");
}

TEST_CASE("recorded log: a training's time weighs less than all_reduce_perf's") {
  // The same rows from all_reduce_perf change the cost model more.
  MeasuredLog recorded = recorded_log(joined(), {1, 8}).value();
  recorded.points.push_back({.size = Bytes(1 << 22),
                             .time_us = 150,
                             .in_place_us = {},
                             .place = {},
                             .wrong_in_place = {}});
  MeasuredLog perf = recorded;
  perf.timed_by = TimedBy::all_reduce_perf;
  const auto missed = [](const Fit& fit) {
    double sum = 0;
    for (const FitResidual& row : fit.residuals)
      sum += std::abs(row.calibrated_us / row.measured_us - 1);
    return sum;
  };
  CHECK(missed(fitted(recorded)) > missed(fitted(perf)));
}

TEST_CASE("recorded log: one transfer left out is predicted from the others") {
  const MeasuredLog log = recorded_log(joined(), {1, 8}).value();
  std::vector<double> errors;
  for (std::size_t out = 0; out < log.points.size(); ++out) {
    MeasuredLog others = log;
    others.points.erase(others.points.begin() + static_cast<std::ptrdiff_t>(out));
    Cluster cluster = dgx1v({1, 8});
    cluster.calibration = std::make_shared<const Calibration>(fitted(others).calibration);
    const Job job = small::on(cluster, AnalyticModel{.tuning = {.nccl = NcclVersion{2, 10, 3}}});
    const double us =
        plan(job, CollectiveKind::all_reduce, log.points[out].size).transfer.microseconds();
    errors.push_back(std::abs(us / log.points[out].time_us - 1));
    MESSAGE(log.points[out].size.count()
            << " B: measured " << log.points[out].time_us << " us, predicted " << us);
  }
  CHECK(median(errors) <= 0.10);
}

TEST_CASE("recorded log: all-reduces of another library tell nothing about NCCL") {
  Workload gloo = joined();
  gloo.recorded_with.nccl_kernels = 0;
  const MeasuredLog log = recorded_log(gloo, {1, 8}).value();
  CHECK(mentions(complaint_of([&] { fitted(log); }), "was taken over another library than NCCL"));
}
