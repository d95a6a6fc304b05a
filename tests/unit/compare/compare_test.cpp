#include "ddpsim/sim/compare/compare.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// 25 MiB in four gradients, the last of which ends backward: its bucket is exposed.
Workload exposed_chain() {
  return small::chain({{8'000'000, 500}, {8'000'000, 1000}, {8'000'000, 1500}, {2'000'000, 2000}},
                      1000, 2000, 100);
}

/// A cluster with everything that a comparison needs.
struct Side {
  Workload workload = exposed_chain();
  Cluster cluster;
  SimulationOptions options;
  CollectiveModel model;

  Side(const std::string& name, int ranks, double gigabytes_per_second)
      : cluster(small::node(ranks, gigabytes_per_second)) {
    cluster.name = name;
    model = AnalyticModel{};
  }
  operator Job() const { return Job(workload, cluster, options, model); }
};

Comparison quick(const std::vector<Job>& candidates) {
  return compare(candidates, {.threads = 2});
}

}  // namespace

TEST_CASE("compare: efficiency is the step of one GPU without DDP over the step of the job") {
  Side side("node", 8, 10);
  side.options = small::bare();
  const ComparedJob job = quick({side}).jobs.front();
  // forward + backward + optimizer; nothing else was recorded.
  CHECK(job.times.alone() == 3100_us);
  CHECK(job.times.iteration > 3100_us);
  CHECK(job.efficiency() == doctest::Approx(3100_us / job.times.iteration));
  CHECK(job.behind.percent == 0);
}

TEST_CASE("compare: costs of DDP and interference lower efficiency, never the step alone") {
  const Side side("node", 8, 10);
  Side ideal("node", 8, 10);
  ideal.options = small::bare();
  const Comparison comparison = quick({side, ideal});
  CHECK(comparison.jobs[0].times.alone() == comparison.jobs[1].times.alone());
  CHECK(comparison.jobs[0].efficiency() < comparison.jobs[1].efficiency());
}

TEST_CASE("compare: two equal jobs are equal for certain, whatever their clusters are called") {
  Side a("node", 8, 5);
  a.options.rank_slowdown = kPublishedRankSlowdown;
  a.options.rank_slowdown_range = {kLeastPublishedRankSlowdown, kMostPublishedRankSlowdown};
  Side b = a;
  b.cluster.name = "other";
  const Speedup speedup = quick({a, b}).jobs[1].behind;
  CHECK(speedup.percent == 0);
  CHECK(speedup.low_percent == 0);
  CHECK(speedup.high_percent == 0);
  CHECK(speedup.same);
}

TEST_CASE("compare: collectives of two different clusters may err in opposite directions") {
  const Side a("node", 8, 5);
  const Side same("node", 8, 5);
  Side other("node", 8, 5);
  other.cluster.cpu = CpuVendor::amd;
  const Speedup within = quick({a, same}).jobs[1].behind;
  const Speedup between = quick({a, other}).jobs[1].behind;
  CHECK(between.percent == doctest::Approx(within.percent));
  CHECK(between.low_percent < within.low_percent - 1);
  CHECK(between.high_percent > within.high_percent + 1);
}

TEST_CASE("compare: a GPU of another kind brings its own error, the same GPU shares it") {
  const auto scaled = [](const std::string& name, const std::string& gpu) {
    Side side(name, 8, 100);
    side.cluster.gpu.name = gpu;
    side.options.compute_scale = 2;
    side.options.compute_scale_range = {1.6, 2.4};
    return side;
  };
  const Side a100 = scaled("node", "A100");
  const Side a100_too = scaled("node", "A100");
  const Side h100 = scaled("node", "H100");
  const Speedup shared = quick({a100, a100_too}).jobs[1].behind;
  const Speedup apart = quick({a100, h100}).jobs[1].behind;
  CHECK(shared.high_percent - shared.low_percent < 11);
  CHECK(apart.high_percent - apart.low_percent > 30);
}

TEST_CASE("compare: a speedup is certain if no scenario removes it") {
  const Side slow("node", 8, 100);
  Side fast("node", 8, 100);
  fast.options.compute_scale = 1.5;
  const Comparison comparison = quick({slow, fast});
  CHECK(comparison.by_speed == std::vector<std::size_t>{1, 0});
  const Speedup speedup = comparison.jobs[0].behind;
  CHECK(speedup.percent > 30);
  CHECK(speedup.percent < 50);  // copies and collectives do not get faster
  CHECK(speedup.certain());
  CHECK(speedup.low_percent < speedup.percent);
  CHECK(speedup.percent < speedup.high_percent);
}

TEST_CASE("compare: more GPUs train faster although their step takes longer") {
  const Side two("node", 2, 10);
  const Side eight("node", 8, 10);
  const Comparison comparison = quick({two, eight});
  REQUIRE(comparison.jobs[1].times.iteration > comparison.jobs[0].times.iteration);
  CHECK(comparison.by_speed == std::vector<std::size_t>{1, 0});
  const double ratio =
      4 * (comparison.jobs[0].times.iteration / comparison.jobs[1].times.iteration);
  CHECK(comparison.jobs[0].behind.percent == doctest::Approx(100 * (ratio - 1)));
}

TEST_CASE("compare: the number of threads changes nothing") {
  std::vector<Side> sides;
  for (int ranks = 1; ranks <= 8; ++ranks) sides.emplace_back("node", ranks, 7);
  const std::vector<Job> candidates(sides.begin(), sides.end());
  const auto searched = [&](int threads) {
    Comparison comparison = compare(candidates, {.threads = threads});
    search_caps(comparison, comparison.by_speed, threads);
    return comparison;
  };
  const Comparison one = searched(1);
  for (const int threads : {2, 3, 16}) {
    const Comparison many = searched(threads);
    CHECK(many.by_speed == one.by_speed);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      CAPTURE(i);
      CHECK(many.jobs[i].times.iteration == one.jobs[i].times.iteration);
      CHECK(many.jobs[i].behind.low_percent == one.jobs[i].behind.low_percent);
      CHECK(many.jobs[i].behind.high_percent == one.jobs[i].behind.high_percent);
      REQUIRE(many.jobs[i].best_cap.has_value());
      CHECK(many.jobs[i].best_cap->bucket_cap_mb == one.jobs[i].best_cap->bucket_cap_mb);
      CHECK(many.jobs[i].best_cap->gain.value == one.jobs[i].best_cap->gain.value);
    }
  }
}
