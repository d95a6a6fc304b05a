#include "ddpsim/sim/rank_slowdown.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "ddpsim/sim/tune.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// 50 us forward, 100 us backward, 10 us optimizer; gradients too small to take time.
Workload recorded_alone() {
  return small::chain({{40, 40}, {40, 100}}, 50, 100, 10);
}

Cluster slowed_nodes(int count, int gpus) {
  Cluster cluster = small::node(gpus);
  cluster.nodes = count;
  if (count > 1) cluster.network = {.kind = NetworkKind::infiniband, .nics_per_node = 1};
  return cluster;
}

constexpr RankSlowdown kPace{0.05, 0.02};

bool names(const Confidence& confidence, const std::string& part) {
  return std::any_of(
      confidence.because.begin(), confidence.because.end(),
      [&](const std::string& reason) { return reason.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE(
    "multi-GPU slowdown: nothing for one rank, the same for two as for eight, more per doubling of "
    "nodes") {
  CHECK(slowdown(kPace, slowed_nodes(1, 1)) == 1);
  CHECK(slowdown(kPace, slowed_nodes(1, 2)) == doctest::Approx(1.05));
  CHECK(slowdown(kPace, slowed_nodes(1, 8)) == doctest::Approx(1.05));
  CHECK(slowdown(kPace, slowed_nodes(2, 8)) == doctest::Approx(1.07));
  CHECK(slowdown(kPace, slowed_nodes(8, 1)) == doctest::Approx(1.11));
  CHECK(slowdown(RankSlowdown{}, slowed_nodes(64, 8)) == 1);
}

TEST_CASE("multi-GPU slowdown: a recording within a job of several ranks holds its part already") {
  Workload workload = recorded_alone();
  CHECK(slowdown_of_compute(kPace, workload, slowed_nodes(1, 8)) == doctest::Approx(1.05));
  workload.recorded_with.world_size = 8;
  CHECK(slowdown_of_compute(kPace, workload, slowed_nodes(1, 8)) == 1);
  CHECK(slowdown_of_compute(kPace, workload, slowed_nodes(2, 8)) == doctest::Approx(1.07 / 1.05));
  CHECK(slowdown_of_compute(kPace, workload, slowed_nodes(1, 1)) == doctest::Approx(1 / 1.05));
  workload.recorded_with.world_size = 16;
  CHECK(slowdown_of_compute(kPace, workload, slowed_nodes(2, 8)) == 1);
}

TEST_CASE(
    "multi-GPU slowdown: how many nodes a recording came from is guessed by eights, or by this "
    "cluster's") {
  Workload workload = recorded_alone();
  workload.recorded_with.world_size = 16;
  CHECK(slowdown_of_compute(kPace, workload, slowed_nodes(1, 16)) == 1);  // one node of 16, as here
  CHECK(slowdown_of_compute(kPace, workload, slowed_nodes(4, 4)) ==
        doctest::Approx(1.09 / 1.07));  // two of 8
  workload.recorded_with.world_size = 2;
  CHECK(slowdown_of_compute(kPace, workload, slowed_nodes(1, 2)) == 1);
  // Recordings of several ranks count, whatever the first of them says of its job.
  workload.recorded_with.world_size = 1;
  workload.ranks.resize(2);
  CHECK(slowdown_of_compute(kPace, workload, slowed_nodes(1, 2)) == 1);
}

TEST_CASE("multi-GPU slowdown: in whole millionths") {
  CHECK(slowdown({.beside_others = 0.0000004}, slowed_nodes(1, 2)) == 1);
  CHECK(slowdown({.beside_others = 0.0000006}, slowed_nodes(1, 2)) == 1.000001);
  SimulationOptions options = small::bare();
  options.compute_scale = 3;
  options.rank_slowdown = {.beside_others = 0.5};
  CHECK(compute_speed(Job(recorded_alone(), slowed_nodes(1, 2), options, FreeModel{})) == 2);
}

TEST_CASE(
    "multi-GPU slowdown: all compute of the step takes that much longer, DDP's own work does not") {
  SimulationOptions options = small::bare();
  const Workload workload = recorded_alone();
  const Cluster cluster = slowed_nodes(1, 8);
  const StepTimes alone = simulate_times(Job(workload, cluster, options, FreeModel{}));
  options.rank_slowdown = {.beside_others = 0.1};
  const StepTimes slower = simulate_times(Job(workload, cluster, options, FreeModel{}));
  CHECK(alone.iteration == 160_us);
  CHECK(slower.forward == 55_us);
  CHECK(slower.backward_compute == 110_us);
  CHECK(slower.optimizer == 11_us);
  CHECK(simulate_times(Job(workload, slowed_nodes(1, 1), options, FreeModel{})).iteration ==
        160_us);
}

TEST_CASE("multi-GPU slowdown: its range widens the interval until today's step is given") {
  SimulationOptions options = small::bare();
  options.rank_slowdown = kPublishedRankSlowdown;
  options.rank_slowdown_range = {kLeastPublishedRankSlowdown, kMostPublishedRankSlowdown};
  const Workload workload = recorded_alone();
  const Cluster cluster = slowed_nodes(1, 8);
  const Duration step = simulate_times(Job(workload, cluster, options, FreeModel{})).iteration;
  const Confidence guessed =
      assess(Job(workload, cluster, options, FreeModel{}), step, std::nullopt);
  const double usual = 1 + kPublishedRankSlowdown.beside_others;
  CHECK(guessed.low_percent ==
        doctest::Approx(100 * ((1 + kLeastPublishedRankSlowdown.beside_others) / usual - 1))
            .epsilon(0.05));
  CHECK(guessed.high_percent ==
        doctest::Approx(100 * ((1 + kMostPublishedRankSlowdown.beside_others) / usual - 1))
            .epsilon(0.05));
  CHECK(names(guessed, "4.5 % slower on 8 ranks"));
  CHECK(names(assess(Job(workload, slowed_nodes(4, 8), options, FreeModel{}), step, std::nullopt),
              "9.5 % slower on 8 ranks on each of 4 nodes"));
  REQUIRE(guessed.measure_next);
  CHECK(guessed.measure_next->then == "ddpsim simulate WORKLOAD CLUSTER --measured-step TIME");

  options.compute_scale_range = {0.8, 1.25};  // that is in today's step, too
  const Confidence checked =
      assess(Job(workload, cluster, options, FreeModel{}), step, Replay{step, step});
  CHECK(checked.high_percent == doctest::Approx(0.5));
  CHECK_FALSE(names(checked, "slower on"));
  CHECK(checked.measure_next == std::nullopt);
}
