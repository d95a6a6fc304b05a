#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "ddpsim/sim/values/rank_variation.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

SimulationResult simulated_ranks(const SimulationOptions& options, int ranks,
                                 const Workload& workload,
                                 const CollectiveModel& model = FreeModel{}) {
  const Cluster cluster = small::node(ranks);
  REQUIRE(cannot_simulate(Job(workload, cluster, options, FreeModel{})) == std::nullopt);
  return simulate(Job(workload, cluster, options, model));
}

/// 50 us forward, two gradients, 100 us backward: 150 us of compute.
Workload alike_ranks(double optimizer_us = 0) {
  return small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 100, optimizer_us);
}

}  // namespace

TEST_CASE("rank variation: draws have mean 1 and the spread asked for, whatever their order") {
  const RankVariation variation{.jitter = 0.1, .seed = 7};
  double sum = 0;
  double squares = 0;
  constexpr int kDrawn = 500;
  constexpr int kIterations = 400;
  for (int rank = 0; rank < kDrawn; ++rank) {
    for (int iteration = 1; iteration <= kIterations; ++iteration) {
      const double factor = slowdown(variation, rank, iteration);
      CHECK_GT(factor, 0);
      sum += factor;
      squares += factor * factor;
    }
  }
  constexpr double kCount = kDrawn * kIterations;
  const double mean = sum / kCount;
  // 200,000 draws: the mean is known to 0.1 / sqrt(200000) = 0.0002.
  CHECK(mean == doctest::Approx(1).epsilon(0.001));
  CHECK(std::sqrt(squares / kCount - mean * mean) == doctest::Approx(0.1).epsilon(0.01));
  CHECK(slowdown(variation, 3, 5) == slowdown(variation, 3, 5));
  CHECK(slowdown(variation, 3, 5) != slowdown(variation, 5, 3));
  CHECK(slowdown({.jitter = 0.1, .seed = 8}, 3, 5) != slowdown(variation, 3, 5));
}

TEST_CASE("rank variation: the same bits on every machine") {
  const RankVariation variation{.jitter = 0.05, .seed = 1};
  CHECK(slowdown(variation, 0, 1) == 0.970286);
  CHECK(slowdown(variation, 1, 1) == 0.962717);
  CHECK(slowdown(variation, 1023, 200) == 0.991254);
}

TEST_CASE("rank variation: a straggler's draws are slowed by its factor, others' are not") {
  const RankVariation both{.stragglers = {{2, 3}, {0, 2}}, .jitter = 0.05, .seed = 1};
  CHECK(slowdown(both, 0, 1) == 2 * 0.970286);
  CHECK(slowdown(both, 1, 1) == 0.962717);
  CHECK(steady_slowdown(both, 0) == 2);
  CHECK(steady_slowdown(both, 1) == 1);
  CHECK(steady_slowdown(both, 2) == 3);
  CHECK(slowdown({.stragglers = {{2, 3}}}, 2, 1) == 3);
  CHECK_FALSE(both.empty());
  CHECK_FALSE(RankVariation{.stagger = 1_us}.empty());
  CHECK(RankVariation{.seed = 5}.empty());
}

TEST_CASE("rank variation: first starts lie evenly between rank 0 and the last") {
  const RankVariation variation{.stagger = 60_us};
  CHECK(first_start(variation, 0, 4) == 0_us);
  CHECK(first_start(variation, 1, 4) == 20_us);
  CHECK(first_start(variation, 3, 4) == 60_us);
  CHECK(first_start(variation, 0, 1) == 0_us);
}

TEST_CASE("rank variation: a straggler at 1.2 takes the whole job to its pace") {
  // Only compute takes time. Every rank leaves the last all-reduce with the straggler and then runs
  // its optimizer. The straggler's takes 1.2 * 30 us, so it begins every forward 6 us after the
  // others and is the last again. Its own step of 1.2 * (50 + 100 + 30) us is the job's.
  SimulationOptions options = small::bare();
  options.variation.stragglers = {{.rank = 2, .slowdown = 1.2}};
  const SimulationResult result = simulated_ranks(options, 4, alike_ranks(30));
  CHECK(result.step.times.iteration == 216_us);
  for (const BucketResult& bucket : result.step.buckets) CHECK(bucket.last_rank == 2);
  // The straggler ends its backward 180 + 6 us after the start of the others' forward, the others
  // after 150: each waits 36 us at the last bucket. At the first bucket, ready at 40 of 100 us,
  // each waits 1.2 * 90 + 6 - 90 = 24 us.
  CHECK(result.step.buckets.size() == 2);
  REQUIRE(result.ranks.size() == 4);
  for (const RankWait& rank : result.ranks) {
    CAPTURE(rank.rank);
    CHECK(rank.wait == (rank.rank == 2 ? 0_us : 60_us));
    CHECK(rank.caused == (rank.rank == 2 ? 180_us : 0_us));
    CHECK(rank.times_last == (rank.rank == 2 ? 2 : 0));
  }
}

TEST_CASE("rank variation: it does not matter which rank is slow") {
  SimulationOptions options;
  const CollectiveModel model = AnalyticModel{};
  options.variation.stragglers = {{.rank = 0, .slowdown = 1.3}};
  const Duration first = simulated_ranks(options, 8, alike_ranks(20), model).step.times.iteration;
  for (int rank = 1; rank < 8; ++rank) {
    options.variation.stragglers = {{.rank = rank, .slowdown = 1.3}};
    CHECK(simulated_ranks(options, 8, alike_ranks(20), model).step.times.iteration == first);
  }
}

TEST_CASE("rank variation: with jitter the slowest draw of each iteration sets its pace") {
  // Without an optimizer all ranks begin together, when the last all-reduce has ended. The step
  // then lasts as long as the compute of the slowest rank: the largest of 16 draws, times 150 us.
  SimulationOptions options = small::bare();
  options.variation = {.jitter = 0.1, .seed = 3};
  options.iterations = 200;
  const SimulationResult result = simulated_ranks(options, 16, alike_ranks());
  REQUIRE(result.iterations.size() == 200);
  for (const StepResult& step : result.iterations) {
    double slowest = 0;
    for (int rank = 0; rank < 16; ++rank)
      slowest = std::max(slowest, slowdown(options.variation, rank, step.iteration));
    CHECK(std::abs((step.times.iteration - Duration::microseconds(150 * slowest)).picoseconds()) <=
          10);
  }
  REQUIRE(result.statistics);
  CHECK(result.statistics->count == 198);  // buckets are rebuilt in the second
  REQUIRE(result.statistics->p95);
  REQUIRE(result.statistics->p99);
  CHECK(result.statistics->p50 < *result.statistics->p95);
  CHECK(*result.statistics->p95 <= *result.statistics->p99);
  // The largest of 16 normal draws is 1.77 standard deviations above the mean on average.
  CHECK(result.statistics->mean.iteration / 150_us == doctest::Approx(1.18).epsilon(0.02));
}

TEST_CASE("rank variation: the waits add up to the time that ranks caused") {
  SimulationOptions options;
  options.variation = {.stragglers = {{.rank = 5, .slowdown = 1.1}}, .jitter = 0.05, .seed = 11};
  options.iterations = 30;
  const CollectiveModel model = AnalyticModel{};
  const SimulationResult result = simulated_ranks(options, 8, alike_ranks(20), model);
  Duration waited;
  Duration caused;
  for (const RankWait& rank : result.ranks) {
    waited += rank.wait;
    caused += rank.caused;
  }
  CHECK(waited > Duration());
  CHECK(waited == caused);
  const auto worst =
      std::max_element(result.ranks.begin(), result.ranks.end(),
                       [](const RankWait& a, const RankWait& b) { return a.caused < b.caused; });
  CHECK(worst->rank == 5);
}

TEST_CASE("rank variation: staggered starts are paid once") {
  SimulationOptions options = small::bare();
  options.iterations = 4;
  const SimulationResult together = simulated_ranks(options, 4, alike_ranks());
  options.variation.stagger = 70_us;
  const SimulationResult apart = simulated_ranks(options, 4, alike_ranks());
  CHECK(apart.iterations[0].times.iteration == together.iterations[0].times.iteration + 70_us);
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(apart.iterations[i].times.iteration == together.iterations[i].times.iteration);
  CHECK(apart.ranks[3].caused == 70_us + Duration::picoseconds(70'000'000 * 2 / 3) +
                                     Duration::picoseconds(70'000'000 / 3 + 1));
}

TEST_CASE("rank variation: percentiles need enough iterations") {
  SimulationOptions options = small::bare();
  options.variation.jitter = 0.02;
  options.iterations = 21;
  CHECK_FALSE(simulated_ranks(options, 2, alike_ranks()).statistics->p95);
  options.iterations = 22;
  CHECK(simulated_ranks(options, 2, alike_ranks()).statistics->p95);
  CHECK_FALSE(simulated_ranks(options, 2, alike_ranks()).statistics->p99);
}

TEST_CASE("rank variation: too many ranks to simulate one by one are refused") {
  SimulationOptions options;
  options.variation.jitter = 0.1;
  options.iterations = 1;
  Cluster cluster = small::node(8);
  cluster.nodes = 100'000;
  const auto problem = cannot_simulate(Job(alike_ranks(), cluster, options, FreeModel{}));
  REQUIRE(problem);
  CHECK(problem->find("65536") != std::string::npos);
}
