// Fits logs of gloo: constants of a host are recovered, and constants that the logs do not
// determine stay.
#include "ddpsim/calibrate/fit/gloo_fit.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Cluster gloo_hosts(JobShape shape) {
  return load_cluster_at("node:1 gpu:8xV100 pcie:12GBps nic:1x1Gbps:tcp", shape.nodes,
                         shape.gpus_per_node);
}

const GlooLinks kTruth{.process = 2.4_GBps, .step = 20_us, .start = 50_us, .host_tensors = true};

double truth_us(JobShape shape, Bytes size, const GlooLinks& links = kTruth) {
  const Job job(Workload{}, gloo_hosts(shape), SimulationOptions{},
                CollectiveModel(GlooModel{.links = links}));
  return plan(job, CollectiveKind::all_reduce, size).transfer.microseconds();
}

MeasuredLog log_of(JobShape shape) {
  MeasuredLog log;
  log.source = "n" + std::to_string(shape.ranks()) + ".json";
  log.nodes = shape.nodes;
  log.gpus_per_node = shape.gpus_per_node;
  log.ranks = shape.ranks();
  log.gpu = "CPU; compute is a timed wait";
  log.backend = "gloo 0.5.0 over TCP, 2 threads";
  return log;
}

MeasuredLog gloo_measured(JobShape shape, const GlooLinks& links = kTruth) {
  MeasuredLog log = log_of(shape);
  for (std::int64_t size = 1024; size <= 16 << 20; size *= 4)
    log.points.push_back({.size = Bytes(size),
                          .time_us = truth_us(shape, Bytes(size), links),
                          .in_place_us = {},
                          .place = {},
                          .wrong_in_place = {}});
  return log;
}

const GlooFitted& figure(const GlooFit& fit, std::string_view word) {
  for (const GlooFitted& one : fit.constants)
    if (one.constant->word == word) return one;
  FAIL("no such figure");
  return fit.constants.front();
}

}  // namespace

TEST_CASE("gloo fit: constants that the logs determine are recovered, others stay") {
  const GlooFit fit = fit_gloo({gloo_measured({1, 2}), gloo_measured({1, 4})}, gloo_hosts);
  CHECK(figure(fit, "process").value == doctest::Approx(2.4).epsilon(0.01));
  CHECK(figure(fit, "step").value == doctest::Approx(20).epsilon(0.05));
  for (const char* word : {"process", "step"}) {
    CHECK(figure(fit, word).told);
    CHECK(figure(fit, word).low < figure(fit, word).value);
  }
  for (const char* word : {"fill", "host", "copy"}) {
    CHECK_FALSE(figure(fit, word).told);
    CHECK(figure(fit, word).value == doctest::Approx(figure(fit, word).before));
  }
  CHECK(fit.calibration.links.host == GlooLinks{}.host);
  CHECK(errors_of(fit.residuals).p90 < 0.03);
  CHECK(errors_of(fit.residuals, &GlooResidual::assumed_us).median > 0.2);
  REQUIRE(fit.ranks_left_out.size() == 2);
  CHECK(fit.ranks_left_out[0].errors.median < 0.1);
  CHECK(fit.calibration.deviation.large ==
        doctest::Approx(0.05));  // at least the variation of launches
  REQUIRE(fit.calibration.other_ranks_deviation);
}

TEST_CASE("gloo fit: one number of ranks tells nothing about others") {
  const GlooFit fit = fit_gloo({gloo_measured({1, 2})}, gloo_hosts);
  CHECK(fit.ranks_left_out.empty());
  CHECK_FALSE(fit.calibration.other_ranks_deviation);
  CHECK(is_calibrated_at(fit.calibration, 1, 2));
  CHECK_FALSE(is_calibrated_at(fit.calibration, 2, 1));
}

TEST_CASE("gloo fit: if the NIC limits, the logs tell nothing about a process") {
  const GlooFit fit = fit_gloo({gloo_measured({2, 1}), gloo_measured({4, 1})}, gloo_hosts);
  CHECK_FALSE(figure(fit, "process").told);
  CHECK(figure(fit, "step").told);
}

TEST_CASE("gloo fit: all-reduces in flight together are one time and show how they fill links") {
  MeasuredLog log = gloo_measured({1, 2});
  const double one = truth_us({1, 2}, 8_MiB);
  // Both are ready at once: the links carry both volumes at 1.1 times the time.
  for (int step = 0; step < 3; ++step)
    log.steps.push_back({{8_MiB, 0, 2 / 1.1 * one}, {8_MiB, 0, 2 / 1.1 * one}});
  log.steps.push_back({{1_MiB, 0, truth_us({1, 2}, 1_MiB)}, {2_MiB, 1e6, truth_us({1, 2}, 2_MiB)}});
  const GlooFit fit = fit_gloo({log}, gloo_hosts);
  CHECK(figure(fit, "fill").told);
  CHECK(figure(fit, "fill").value == doctest::Approx(1.1).epsilon(0.03));
  std::size_t together = 0;
  for (const GlooResidual& row : fit.residuals)
    if (row.together == 2) {
      ++together;
      CHECK(row.size == 16_MiB);
    }
  CHECK(together == 3);
}

TEST_CASE("gloo fit: tensors of a GPU show the time of copies") {
  GlooLinks links = kTruth;
  MeasuredLog log = log_of({1, 2});
  log.gpu = "Tesla V100-SXM2-16GB";
  for (std::int64_t size = 1024; size <= 64 << 20; size *= 2) {
    const Duration copies = 2 * (Bytes(size) / 3_GBps);
    log.points.push_back({.size = Bytes(size),
                          .time_us = truth_us({1, 2}, Bytes(size), links) + copies.microseconds(),
                          .in_place_us = {},
                          .place = {},
                          .wrong_in_place = {}});
  }
  // Such logs only determine the rates of a process and of copies together.
  const GlooFit fit = fit_gloo({log}, gloo_hosts);
  CHECK(errors_of(fit.residuals).p90 < 0.05);
}

TEST_CASE("gloo fit: what cannot be fitted is reported") {
  const auto complaint = [](const MeasuredLog& log) {
    return complaint_of([&] { fit_gloo({log}, gloo_hosts); });
  };
  MeasuredLog one = gloo_measured({1, 2});
  one.points.resize(1);
  CHECK(mentions(complaint(one), "only one size"));
  MeasuredLog nowhere = gloo_measured({1, 2});
  nowhere.nodes.reset();
  CHECK(mentions(complaint(nowhere), "does not state its numbers of nodes"));
  MeasuredLog waits = gloo_measured({1, 2});
  waits.timed_by = TimedBy::one_rank;
  CHECK(mentions(complaint(waits), "the wait for other ranks"));
  MeasuredLog alone = gloo_measured({1, 2});
  alone.gpus_per_node = 1;
  CHECK(mentions(complaint(alone), "a single rank sends nothing"));
  MeasuredLog other = gloo_measured({1, 2});
  other.gpu = "NVIDIA A100-SXM4-40GB";
  CHECK(mentions(complaint(other), "was taken on A100, but the cluster has V100"));
  MeasuredLog empty = gloo_measured({1, 2});
  empty.points.clear();
  CHECK(mentions(complaint(empty), "no times of all-reduces"));
}
