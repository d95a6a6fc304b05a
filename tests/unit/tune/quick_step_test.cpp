#include "quick_step.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "bucketing_search.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "gain.hpp"
#include "gradient_runs.hpp"
#include "random_chain.hpp"

using namespace ddpsim;

namespace {

Job random_job(std::mt19937_64& random, int gradients) {
  const double gigabytes = 2 << small::draw(random, 6);
  SimulationOptions options;
  options.torch = {2, 8};
  if (small::draw(random, 2) == 0)
    options.interference = {.sm_share = 1, .memory_share = 0.5, .communication_rate = 0.7};
  return Job(small::random_chain(random, gradients), small::node(8, gigabytes), options,
             AnalyticModel{});
}

TuneResult tuned(const Job& job, std::size_t most_gradients) {
  return tune(job, {.threads = 1, .most_gradients = most_gradients});
}

}  // namespace

TEST_CASE("quick step: within some percent of the simulation, nearer than with free collectives") {
  std::mt19937_64 random(1);
  std::vector<double> errors;
  std::vector<double> free_errors;
  for (int round = 0; round < 60; ++round) {
    const Job job = random_job(random, 60);
    const QuickStep quick(job);
    const GradientRuns runs(job.workload(), job.options().ddp(), job.options().torch);
    const double free = with_free_collectives(job).iteration.seconds();
    for (const std::int64_t limit : {1 << 18, 1 << 20, 1 << 22, 1 << 24}) {
      const std::vector<Bytes> limits = {Bytes(limit)};
      const double simulated =
          simulate_times(with_buckets(job, buckets_under(job.workload(), job.options().ddp(),
                                                         job.options().torch, limits)))
              .iteration.seconds();
      const Cut cut = runs.cut(limits);
      errors.push_back(std::abs(quick.seconds(cut.ends, runs.bytes_before()) - simulated) /
                       simulated);
      free_errors.push_back(std::abs(free - simulated) / simulated);
    }
  }
  std::sort(errors.begin(), errors.end());
  std::sort(free_errors.begin(), free_errors.end());
  MESSAGE("median ", errors[errors.size() / 2], ", worst ", errors.back(), "; free collectives ",
          free_errors[free_errors.size() / 2]);
  CHECK(errors[errors.size() / 2] < 0.005);
  CHECK(errors[errors.size() * 9 / 10] < 0.02);
  CHECK(free_errors[free_errors.size() / 2] > 0.05);  // there was something to detect
}

TEST_CASE(
    "tune: a search that simulates a tenth of the bucketings finds the same as an exhaustive one") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    const Job job = random_job(random, 200);
    const TuneResult all = tuned(job, 1'000'000'000);
    const TuneResult some = tuned(job, 200 * 100);
    CHECK(all.unsimulated == 0);
    CHECK(some.curve.size() + some.unsimulated == all.curve.size());
    CHECK(some.curve.size() < all.curve.size() / 4);
    CHECK(some.best.iteration >= all.best.iteration);
    // A tenth of the measurable.
    CHECK(some.best.iteration.seconds() < all.best.iteration.seconds() * 1.001);
    CHECK(some.recommended.set == all.recommended.set);
    const double one = some.recommended.expected.seconds();
    const double other = all.recommended.expected.seconds();
    CHECK(std::abs(one - other) < 0.005 * all.default_setting.iteration.seconds());
  }
}

TEST_CASE("tune: simulated points equal those of an exhaustive search, to the picosecond") {
  std::mt19937_64 random(3);
  const Job job = random_job(random, 200);
  const TuneResult all = tuned(job, 1'000'000'000);
  const TuneResult some = tuned(job, 200 * 100);
  REQUIRE(some.curve.size() < all.curve.size());
  auto at = all.curve.begin();
  for (const CurvePoint& point : some.curve) {
    while (at != all.curve.end() &&
           (at->cap_range_mb != point.cap_range_mb || at->first_bucket_mb != point.first_bucket_mb))
      ++at;
    REQUIRE(at != all.curve.end());
    CHECK(at->iteration == point.iteration);
    CHECK(at->buckets == point.buckets);
  }
}

TEST_CASE("tune: points beyond the recommended range are simulated and measurably slower") {
  std::mt19937_64 random(4);
  int cliffs = 0;
  for (int round = 0; round < 20; ++round) {
    const Job job = random_job(random, 200);
    const TuneResult result = tuned(job, 200 * 100);
    const Recommendation& recommended = result.recommended;
    if (!recommended.set || !recommended.next_worse) continue;
    for (const auto& cliff : {recommended.next_worse->below, recommended.next_worse->above}) {
      if (!cliff) continue;
      ++cliffs;
      SimulationOptions options = job.options();
      options.ddp_to_set().bucket_cap_mb = recommended.bucket_cap_mb;
      const Duration step = simulate_times(job.with(options)).iteration;
      options.ddp_to_set().bucket_cap_mb = cliff->cap_mb;
      CHECK(simulate_times(job.with(options)).iteration - step == cliff->loss);
      CHECK(cliff->loss > recommended.measurable);
    }
  }
  CHECK(cliffs > 5);
}

TEST_CASE("tune: all requested caps are simulated, however many") {
  std::mt19937_64 random(5);
  TuneOptions tuning{.threads = 1, .most_gradients = 1};
  for (int cap = 1; cap <= 100; ++cap) tuning.caps.push_back(cap);
  const TuneResult result = tune(random_job(random, 60), tuning);
  CHECK(result.curve.size() == 100);
  CHECK(result.unsimulated == 0);
}
