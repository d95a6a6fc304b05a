// Two jobs compared in full detail: efficiency, speedup and its interval. The faster job takes 1000
// us: 400 us of compute, then 600 us of an all-reduce.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "alpha_beta.hpp"
#include "ddpsim/sim/compare/compare.hpp"
#include "uncertainty.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

small::OpenJob with_compute(double us) {
  return {.workload = small::chain({{4 << 20, us - 100}}, 100, us - 100),
          .model = small::alpha_beta(200, 100)};
}

/// All-reduces take the recorded time, so they have no uncertainty.
small::OpenJob replay(double compute_us) {
  small::OpenJob job = with_compute(compute_us);
  job.model = RecordedModel{.durations = {600_us}};
  return job;
}

Comparison compared(const std::vector<const small::OpenJob*>& jobs) {
  std::vector<Job> candidates;
  for (const small::OpenJob* job : jobs) candidates.push_back(*job);
  return compare(candidates, {.threads = 1});
}

ComparedJob alone(const small::OpenJob& job) {
  return compared({&job}).jobs.front();
}

Speedup speedup_of(const small::OpenJob& fast, const small::OpenJob& slow) {
  const Comparison comparison = compared({&slow, &fast});
  REQUIRE(comparison.by_speed.front() == 1);
  return comparison.jobs[0].behind;
}

/// `lows` and `highs` are the deviations of the ratio from `ratio`, by source. Both steps would be
/// measured to 0.5 %.
void check_speedup(const Speedup& speedup, double ratio, const std::vector<double>& lows,
                   const std::vector<double>& highs) {
  const auto together = [&](const std::vector<double>& sources) {
    double squares = 2 * std::pow(0.005 * ratio, 2);
    for (const double source : sources) squares += source * source;
    return std::sqrt(squares);
  };
  CHECK(speedup.percent == doctest::Approx(100 * (ratio - 1)).epsilon(1e-7));
  CHECK(speedup.low_percent == doctest::Approx(100 * (ratio - together(lows) - 1)).epsilon(1e-7));
  CHECK(speedup.high_percent == doctest::Approx(100 * (ratio + together(highs) - 1)).epsilon(1e-7));
}

}  // namespace

TEST_CASE("compare: a single GPU computes and does nothing for DDP") {
  small::OpenJob job = with_compute(400);
  job.workload.optimizer = 50_us;
  ComparedJob compared = alone(job);
  CHECK(compared.times.iteration == 1050_us);
  CHECK(compared.times.alone() == 450_us);
  CHECK(compared.efficiency() == 450.0 / 1050);
  CHECK_FALSE(compared.best_cap);
  // Copies of 10 us in and out and a broadcast of 200 + 100 us belong to DDP.
  job.options.costs.host_copy = 10_us;
  job.workload.buffers = {{.dtype = Dtype::float32, .bytes = 1_MiB, .tensors = 1}};
  compared = alone(job);
  CHECK(compared.times.buffer_broadcast == 320_us);
  CHECK(compared.times.iteration == 1390_us);
  CHECK(compared.times.alone() == 450_us);
}

TEST_CASE("compare: nobody slows a single GPU down") {
  small::OpenJob job = with_compute(400);
  job.options.rank_slowdown = {.several_gpus = 0.25};
  const ComparedJob two = alone(job);
  CHECK(two.times.iteration == 1100_us);  // 500 of compute
  CHECK(two.times.alone() == 400_us);
  CHECK(two.efficiency() == 400.0 / 1100);
  // Applies to the cluster's GPU, alone or not.
  job.options.compute_scale = 2;
  CHECK(alone(job).times.iteration == 850_us);
  CHECK(alone(job).times.alone() == 200_us);
  job.options.compute_scale = 1;
  job.cluster.gpus_per_node = 1;
  job.model = small::alpha_beta(200, 100);
  CHECK(alone(job).times.alone() == 400_us);
  CHECK(alone(job).efficiency() == 1);
}

TEST_CASE("compare: waits between recorded steps also count for a single GPU") {
  small::OpenJob job = with_compute(400);
  job.workload.iteration = 430_us;
  CHECK(alone(job).times.iteration == 1030_us);
  CHECK(alone(job).times.alone() == 430_us);
  job.options.accumulate = 2;  // and for each micro-batch
  CHECK(alone(job).times.iteration == 1460_us);
  CHECK(alone(job).times.alone() == 860_us);
  job.options.rank_slowdown = {.several_gpus = 0.25};  // slows compute but not the wait
  CHECK(alone(job).times.alone() == 860_us);
}

TEST_CASE("compare: training speed is ranks over step time") {
  const small::OpenJob two = replay(400);
  small::OpenJob four = replay(1000);
  four.cluster.gpus_per_node = 4;  // 4 / 1600 against 2 / 1000
  const Comparison comparison = compared({&two, &four});
  CHECK(comparison.by_speed == std::vector<std::size_t>{1, 0});
  check_speedup(comparison.jobs[0].behind, 1.25, {}, {});
  CHECK(comparison.jobs[1].behind.percent == 0);
  CHECK(comparison.jobs[1].behind.low_percent == 0);
  CHECK(comparison.jobs[1].behind.high_percent == 0);
}

TEST_CASE("compare: jobs that are equally fast stay in order") {
  const small::OpenJob job = replay(400);
  const small::OpenJob slower = replay(500);
  CHECK(compared({&slower, &job, &job}).by_speed == std::vector<std::size_t>{1, 2, 0});
}

TEST_CASE("compare: a step that takes no time has no speedup") {
  small::OpenJob nothing = with_compute(100);
  nothing.workload = small::chain({{4, 0}}, 0, 0);
  nothing.model = FreeModel{};
  REQUIRE(nothing.step() == 0_us);
  const small::OpenJob job = replay(400);
  const Comparison comparison = compared({&job, &nothing});
  CHECK(comparison.by_speed == std::vector<std::size_t>{1, 0});
  CHECK(comparison.jobs[0].behind.percent == 0);
  CHECK(comparison.jobs[0].behind.low_percent == 0);
  CHECK(comparison.jobs[0].behind.high_percent == 0);
}

TEST_CASE("compare: each job is compared with the fastest") {
  const small::OpenJob fast = replay(400);
  const small::OpenJob middle = replay(900);
  const small::OpenJob slow = replay(1400);
  const Comparison comparison = compared({&middle, &slow, &fast});
  CHECK(comparison.by_speed == std::vector<std::size_t>{2, 0, 1});
  check_speedup(comparison.jobs[0].behind, 1.5, {}, {});
  check_speedup(comparison.jobs[1].behind, 2, {}, {});
}

TEST_CASE("compare: on one cluster collectives share their error, so the speedup is certain") {
  // 760 and 1160 us, or 1420 and 1820.
  const Speedup speedup = speedup_of(with_compute(400), with_compute(800));
  check_speedup(speedup, 1.4, {1.4 - 1820.0 / 1420}, {1160.0 / 760 - 1.4});
  CHECK(speedup.certain());
}

TEST_CASE("compare: on two clusters collectives err independently, so the speedup is not certain") {
  const small::OpenJob fast = with_compute(400);
  small::OpenJob slow = with_compute(800);
  slow.cluster.name = "other";
  CHECK(speedup_of(fast, slow).certain());  // a name does not matter
  slow.cluster.cpu = CpuVendor::amd;
  const Speedup speedup = speedup_of(fast, slow);
  check_speedup(speedup, 1.4, {1.4 - 1400.0 / 1420, 1.4 - 1160.0 / 1000},
                {1400.0 / 760 - 1.4, 1820.0 / 1000 - 1.4});
  CHECK_FALSE(speedup.certain());
}

TEST_CASE("compare: a speedup of zero in the worst scenario is not certain") {
  CHECK_FALSE(Speedup{.percent = 5, .low_percent = 0, .high_percent = 10}.certain());
  CHECK(Speedup{.percent = 5, .low_percent = 0.1, .high_percent = 10}.certain());
}

TEST_CASE("compare: two sizes of one cluster with a network share the error of collectives") {
  // Nodes of two GPUs with a network that never limits; only shared errors matter.
  const auto on = [](int nodes, int gpus) {
    Cluster cluster = small::pair_of_gpus();
    cluster.nodes = nodes;
    cluster.gpus_per_node = gpus;
    cluster.network.per_nic = Bandwidth::bytes_per_second(std::numeric_limits<double>::infinity());
    small::OpenJob job = with_compute(400);
    job.cluster = cluster;
    job.model = small::alpha_beta(600, 1e-6);  // equally long for any number of ranks
    return job;
  };
  const auto width = [&](const small::OpenJob& a, const small::OpenJob& b) {
    const Speedup speedup =
        compared({&a, &b}).jobs[a.cluster.ranks() < b.cluster.ranks() ? 0 : 1].behind;
    return speedup.high_percent - speedup.low_percent;
  };
  CHECK(width(on(4, 2), on(4, 2)) == 0);
  CHECK(width(on(2, 2), on(4, 2)) > 200 * 0.005 * std::sqrt(2.0) * 2);  // more than noise
  CHECK(width(on(1, 2), on(2, 2)) > 50);  // one does not use its network
  // An eighth of the variance is separate, and a third on other nodes of that kind.
  CHECK(width(on(2, 2), on(4, 2)) < width(on(2, 2), on(2, 4)));
}

TEST_CASE("compare: all clusters share the errors of interference and DDP costs") {
  small::OpenJob fast = replay(380);
  small::OpenJob slow = replay(1380);
  for (small::OpenJob* job : {&fast, &slow})
    job->options.costs.copy_kernel = 10_us;  // twice a step
  slow.cluster.name = "other";
  slow.cluster.gpu.name = "A100";
  check_speedup(speedup_of(fast, slow), 2, {2 - 2010.0 / 1010}, {1994.0 / 994 - 2});
}

TEST_CASE("compare: the multi-GPU overhead is shared wherever the job runs") {
  small::OpenJob fast = replay(400);
  small::OpenJob slow = replay(1400);
  for (small::OpenJob* job : {&fast, &slow})
    job->options.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{.several_gpus = 0.5}};
  slow.cluster.gpu.name = "A100";
  slow.cluster.cpu = CpuVendor::amd;
  check_speedup(speedup_of(fast, slow), 2, {}, {2700.0 / 1200 - 2});
  slow.cluster.gpus_per_node = 1;
  // Only a third is shared, because across a network the overhead usually differs.
  slow.cluster.nodes = 2;
  const double both = 2700.0 / 1200 - 2;
  const double apart = 2700.0 / 1000 - 2;
  check_speedup(speedup_of(fast, slow), 2, {std::sqrt(2.0 / 3) * (2 - 2000.0 / 1200)},
                {std::sqrt(1.0 / 3) * both, std::sqrt(2.0 / 3) * apart});
}

TEST_CASE("compare: clusters with the same GPU share the error of its speed") {
  small::OpenJob fast = replay(400);
  small::OpenJob slow = replay(1400);
  for (small::OpenJob* job : {&fast, &slow}) job->options.compute_scale_range = {0.5, 1};
  slow.cluster.name = "other";
  check_speedup(speedup_of(fast, slow), 2, {}, {3400.0 / 1400 - 2});
  slow.cluster.gpu.name = "A100";
  check_speedup(speedup_of(fast, slow), 2, {2 - 2000.0 / 1400}, {3400.0 / 1000 - 2});
}

TEST_CASE("compare: an uncertainty of one job counts only for that job") {
  small::OpenJob fast = replay(400);
  small::OpenJob slow = replay(1400);
  fast.options.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{.several_gpus = 0.5}};
  slow.options.compute_scale_range = {0.5, 1};
  check_speedup(speedup_of(fast, slow), 2, {2 - 2000.0 / 1200}, {3400.0 / 1000 - 2});
  fast.options.rank_slowdown_range.reset();
  check_speedup(speedup_of(fast, slow), 2, {}, {3400.0 / 1000 - 2});
}

TEST_CASE("compare: overlapping steps share only forward, and so do the steps of one GPU") {
  small::OpenJob overlapped = replay(400);
  overlapped.workload.iteration = 340_us;
  const ComparedJob half = alone(overlapped);  // 60 us of a forward of 100
  CHECK(half.times.iteration == 940_us);
  CHECK(half.times.alone() == 340_us);
  overlapped.workload.iteration = 1_us;
  CHECK(alone(overlapped).times.iteration == 900_us);
  CHECK(alone(overlapped).times.alone() == 300_us);
}

TEST_CASE("compare: the interval of efficiency adds the sources of error as squares") {
  // With one source: 400 us of compute; the all-reduce of 600 us may take 360 or 1020.
  const FigureRange one = alone(with_compute(400)).efficiency_range;
  CHECK(one.value == 400.0 / 1000);
  CHECK(one.low == doctest::Approx(400.0 / 1420));
  CHECK(one.high == doctest::Approx(400.0 / 760));
  // With several sources.
  small::OpenJob job = with_compute(400);
  job.cluster = small::node(8, 5);
  job.model = AnalyticModel{};
  job.options.costs = DdpCosts();
  const ComparedJob many = alone(job);
  double squares_down = 0;
  double squares_up = 0;
  std::size_t sources = 0;
  for (const Bounds& bounds : simulate_scenarios(job)) {
    const double a = bounds.at_one.alone() / bounds.at_one.iteration - many.efficiency();
    const double b = bounds.at_other.alone() / bounds.at_other.iteration - many.efficiency();
    squares_down += std::pow(std::min({a, b, 0.0}), 2);
    squares_up += std::pow(std::max({a, b, 0.0}), 2);
    sources += std::min(a, b) < 0 && std::max(a, b) > 0 ? 1 : 0;
  }
  CHECK(sources > 1);
  CHECK(many.efficiency_range.value == many.efficiency());
  CHECK(many.efficiency_range.low ==
        doctest::Approx(many.efficiency() - std::sqrt(squares_down)).epsilon(1e-9));
  CHECK(many.efficiency_range.high ==
        doctest::Approx(many.efficiency() + std::sqrt(squares_up)).epsilon(1e-9));
}

TEST_CASE("compare: the best cap of each job is the one its own search finds") {
  const small::OpenJob job{.workload = small::mib_layers({100, 200, 300}, 1000),
                           .model = small::alpha_beta(1000, 100)};
  Comparison comparison = compare({job, job}, {.threads = 3});
  search_caps(comparison, {0, 1}, 3);
  for (const ComparedJob& compared : comparison.jobs) {
    REQUIRE(compared.best_cap);
    CHECK(compared.best_cap->bucket_cap_mb == 25);
    CHECK(compared.best_cap->gain == Gain{800_us, 400_us, 1500_us});
    CHECK(compared.confidence.grade == Grade::c);
    CHECK(compared.confidence.sensitivities.front().source == ErrorSource::collective_times);
  }
}

TEST_CASE("compare: the time of a job's work, as predicted and with each source at its bounds") {
  small::OpenJob job = with_compute(400);
  job.cluster = small::node(8, 5);
  job.model = AnalyticModel{};
  job.options.costs = DdpCosts();
  for (const double samples : {8.0, 256.0}) {
    const std::vector<double> stated =
        samples == 8 ? std::vector<double>() : std::vector<double>{samples};
    const Comparison comparison = compare({job}, {.threads = 1, .samples = stated});
    const WorkTime& work = *comparison.jobs.front().work;
    CHECK(work.expected == job.step().seconds() / samples);
    CHECK(work.measured == 0);
    CHECK(work.jobs.size() == 1);
    const std::vector<Bounds> all = simulate_scenarios(job);
    REQUIRE(work.moved.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(work.moved[i].source == all[i].source);
      CHECK(work.moved[i].at_one == all[i].at_one.iteration.seconds() / samples);
      CHECK(work.moved[i].at_other == all[i].at_other.iteration.seconds() / samples);
      CHECK_FALSE(work.moved[i].workload);
    }
  }
}
