// NCCL during compute: its times are those of NCCL alone, unless they were recorded during compute.
#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// A bucket that is ready early and hidden behind 100 ms of backward.
Job hidden(const Cluster& cluster, const CollectiveModel& model) {
  SimulationOptions options = small::bare();
  options.interference.communication_rate.reset();
  return Job(small::chain({{64 << 20, 1000}, {400, 100'000}}, 50, 100'000), cluster, options,
             model);
}

Duration transfer(const Job& job) {
  return simulate(job).step.times.communication;
}

Cluster calibrated_by(TimedBy timed_by, int gpus) {
  Cluster cluster = small::node(8);
  Calibration calibration;
  calibration.shapes = {{.nodes = 1, .gpus_per_node = gpus, .timed_by = timed_by}};
  cluster.calibration = std::make_shared<const Calibration>(std::move(calibration));
  return cluster;
}

}  // namespace

TEST_CASE("NCCL during compute: it reaches 0.8 of its rate alone, or the given share") {
  const Job job = hidden(small::node(8), AnalyticModel{});
  SimulationOptions alone = job.options();
  alone.interference.communication_rate = 1;
  CHECK(kNcclBesideCompute == 0.8);
  CHECK(transfer(job) / transfer(job.with(alone)) == doctest::Approx(1 / 0.8).epsilon(0.01));
  SimulationOptions half = alone;
  half.interference.communication_rate = 0.5;
  CHECK(transfer(job.with(half)) / transfer(job.with(alone)) == doctest::Approx(2).epsilon(0.01));
}

TEST_CASE("NCCL during compute: times recorded during compute, and gloo's, are not scaled") {
  const Cluster cluster = small::node(8);
  CHECK_FALSE(is_timed_beside_compute(hidden(cluster, AnalyticModel{})));
  CHECK(is_timed_beside_compute(hidden(cluster, GlooModel{})));
  const Job recorded = hidden(cluster, RecordedModel{.durations = {3_ms, 1_us}});
  CHECK(is_timed_beside_compute(recorded));
  CHECK(simulate(recorded).step.buckets[0].end - simulate(recorded).step.buckets[0].start == 3_ms);
}

TEST_CASE(
    "NCCL during compute: a calibration of this job shape from a training's own all-reduces "
    "includes it") {
  const auto beside = [](TimedBy timed_by, int gpus) {
    return is_timed_beside_compute(hidden(calibrated_by(timed_by, gpus), AnalyticModel{}));
  };
  CHECK(beside(TimedBy::joined_ranks, 8));
  CHECK(beside(TimedBy::one_rank, 8));
  CHECK_FALSE(beside(TimedBy::all_reduce_perf, 8));
  CHECK_FALSE(beside(TimedBy::joined_ranks, 4));
}
