#include "ddpsim/sim/values/rank_slowdown.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/compute_speed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ddpsim/sim/tune/tune.hpp"
#include "small_jobs.hpp"
#include "summary.hpp"

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

/// Two ranks take 2.3 % more for the slowest GPU and 5 % because there are two. Several nodes take
/// 8 % more, times 1 - 1/nodes.
constexpr RankSlowdown kTerms{
    .gpu_spread = 0.04, .one_gpu = 0.01, .several_gpus = 0.05, .several_nodes = 0.08};

bool names(const Confidence& confidence, const std::string& part) {
  return std::any_of(
      confidence.because.begin(), confidence.because.end(),
      [&](const std::string& reason) { return reason.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("expected maximum: agrees with numerical integration for standard normals") {
  CHECK(expected_maximum(0) == 0);
  CHECK(expected_maximum(1) == 0);
  const auto integral = [](int count) {
    const double step = 1e-3;
    double sum = 0;
    for (double x = -9; x < 9; x += step) {
      const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
      const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
      sum += step * count * x * density * std::pow(below, count - 1);
    }
    return sum;
  };
  for (const int count : {2, 4, 8, 64, 1024, 65536}) {
    CAPTURE(count);
    CHECK(expected_maximum(count) == doctest::Approx(integral(count)).epsilon(2e-4));
  }
  for (const int count : {3, 6, 12, 24, 96, 1500}) {
    CAPTURE(count);
    CHECK(expected_maximum(count) == doctest::Approx(integral(count)).epsilon(0.012));
  }
  CHECK(expected_maximum(1 << 21) > expected_maximum(1 << 20));
}

TEST_CASE("multi-GPU slowdown: the share of the slowest GPU and the unexplained share") {
  const auto shares = [](int nodes, int gpus) {
    return slowdown_shares(kTerms, slowed_nodes(nodes, gpus));
  };
  CHECK(shares(1, 1).slowest_gpu == 0);
  CHECK(shares(1, 1).unexplained == 0.01);  // DDP without a second rank
  CHECK(shares(1, 2).slowest_gpu == doctest::Approx(0.04 * 0.5642));
  CHECK(shares(1, 2).unexplained == 0.05);
  CHECK(shares(1, 8).slowest_gpu == doctest::Approx(0.04 * 1.4236));
  CHECK(shares(1, 8).unexplained == 0.05);
  CHECK(shares(2, 8).unexplained == doctest::Approx(0.09));
  // One percentage point more for each doubling of the nodes.
  RankSlowdown grows = kTerms;
  grows.per_doubling = 0.01;
  CHECK(slowdown_shares(grows, slowed_nodes(1, 8)).unexplained == 0.05);
  CHECK(slowdown_shares(grows, slowed_nodes(8, 8)).unexplained ==
        doctest::Approx(0.05 + 0.08 * 7 / 8 + 0.03));
  CHECK(shares(8, 1).unexplained == doctest::Approx(0.12));
  CHECK(shares(8, 1).slowest_gpu == shares(1, 8).slowest_gpu);
  CHECK(slowdown_shares(kTerms, slowed_nodes(1, 8)).slowdown() ==
        doctest::Approx(1.05 + 0.04 * 1.4236));
  CHECK(slowdown_shares(RankSlowdown{}, slowed_nodes(64, 8)).slowdown() == 1);
}

TEST_CASE(
    "multi-GPU slowdown: only the micro-batch that all-reduces takes unexplained time, unless the "
    "user states the slowdown") {
  const auto of = [](const RankSlowdown& terms, int accumulate) {
    return slowdown_shares(terms, slowed_nodes(2, 8), accumulate);
  };
  CHECK(of(kTerms, 4).slowest_gpu == of(kTerms, 1).slowest_gpu);
  CHECK(of(kTerms, 4).unexplained == doctest::Approx(0.09 / 4));
  CHECK(of({.given = 0.25}, 4).slowdown() == 1.25);
  CHECK(slowdown_shares({.given = 0.25}, slowed_nodes(1, 1)).slowdown() == 1);
  // The same job takes as long as it was recorded.
  Workload workload = recorded_alone();
  workload.recorded_with.world_size = 8;
  workload.recorded_with.accumulate = 4;
  CHECK(shares_beyond_recording(kTerms, workload, slowed_nodes(1, 8), 4).slowdown() == 1);
}

TEST_CASE("multi-GPU slowdown: more GPUs and nodes cost more, each doubling less than the last") {
  double before = 0;
  double step_before = 1;
  for (int nodes = 2; nodes <= 4096; nodes *= 2) {
    CAPTURE(nodes);
    const double now = slowdown_shares(kTerms, slowed_nodes(nodes, 8)).slowdown();
    if (before > 0) {
      CHECK(now > before);
      CHECK(now - before < step_before);
      step_before = now - before;
    }
    before = now;
  }
}

TEST_CASE("multi-GPU slowdown: a recording made within a job already contains its part") {
  Workload workload = recorded_alone();
  const auto beyond = [&](int nodes, int gpus) {
    return shares_beyond_recording(kTerms, workload, slowed_nodes(nodes, gpus)).slowdown();
  };
  const auto of = [](int nodes, int gpus) {
    return slowdown_shares(kTerms, slowed_nodes(nodes, gpus)).slowdown();
  };
  CHECK(beyond(1, 8) == of(1, 8));
  workload.recorded_with.ddp_hooks = true;  // of one GPU, under DDP
  CHECK(beyond(1, 1) == 1);
  CHECK(beyond(1, 8) == doctest::Approx(of(1, 8) / of(1, 1)));
  workload.recorded_with.world_size = 8;
  CHECK(beyond(1, 8) == 1);
  CHECK(beyond(2, 8) == doctest::Approx(of(2, 8) / of(1, 8)));
  CHECK(beyond(1, 1) == doctest::Approx(1 + (0.01 - 0.05) / of(1, 8)));
  workload.recorded_with.world_size = 16;
  CHECK(beyond(2, 8) == 1);
}

TEST_CASE(
    "multi-GPU slowdown: a recording is assumed to come from nodes of eight GPUs, or of the "
    "cluster's size if that is larger") {
  Workload workload = recorded_alone();
  const auto beyond = [&](int nodes, int gpus) {
    return shares_beyond_recording(kTerms, workload, slowed_nodes(nodes, gpus)).slowdown();
  };
  const auto of = [](int nodes, int gpus) {
    return slowdown_shares(kTerms, slowed_nodes(nodes, gpus)).slowdown();
  };
  workload.recorded_with.world_size = 16;
  CHECK(beyond(1, 16) == 1);                                    // one node of 16, as here
  CHECK(beyond(4, 4) == doctest::Approx(of(4, 4) / of(2, 8)));  // two of 8
  workload.recorded_with.world_size = 2;
  CHECK(beyond(1, 2) == 1);
  // The number of recorded ranks counts, whatever the first recording says about its job.
  workload.recorded_with.world_size = 1;
  workload.ranks.resize(2);
  CHECK(beyond(1, 2) == 1);
}

TEST_CASE("GPU spread: measured GPUs have their own spread") {
  const auto spread = [](int capability) {
    return usual_gpu_spread({.compute_capability = capability});
  };
  CHECK(spread(70) == 0.015);
  CHECK(spread(80) == 0.011);
  CHECK(spread(100) == 0.011);
  CHECK(spread(120) == 0.007);
  CHECK(usual_gpu_spread({.vendor = GpuVendor::amd, .compute_capability = 70}) == 0.011);
}

TEST_CASE("multi-GPU slowdown: factors are whole millionths") {
  const auto of = [](double share) {
    return slowdown_shares({.several_gpus = share}, slowed_nodes(1, 2)).slowdown();
  };
  CHECK(of(0.0000004) == 1);
  CHECK(of(0.0000006) == 1.000001);
  SimulationOptions options = small::bare();
  options.compute_scale = 3;
  options.rank_slowdown = {.several_gpus = 0.5};
  CHECK(compute_speed(Job(recorded_alone(), slowed_nodes(1, 2), options, FreeModel{})) == 2);
}

TEST_CASE(
    "multi-GPU slowdown: compute is that of a usual GPU; the wait for the slowest and the rest are "
    "separate parts") {
  SimulationOptions options = small::bare();
  const Workload workload = recorded_alone();
  const Cluster cluster = slowed_nodes(1, 8);
  const StepTimes alone = simulate_times(Job(workload, cluster, options, FreeModel{}));
  options.rank_slowdown = {.gpu_spread = 0.1, .several_gpus = 0.1};
  const StepTimes slower = simulate_times(Job(workload, cluster, options, FreeModel{}));
  CHECK(alone.iteration == 160_us);
  CHECK(slower.forward == 50_us);
  CHECK(slower.backward_compute == 100_us);
  CHECK(slower.backward == 100_us);
  CHECK(slower.optimizer == 10_us);
  CHECK(slower.slowest_gpu.microseconds() == doctest::Approx(160 * 0.14236).epsilon(1e-6));
  CHECK(slower.unexplained.microseconds() == doctest::Approx(16).epsilon(1e-6));
  CHECK(end_of_backward(slower).since_start().microseconds() ==
        doctest::Approx(150 * 1.24236).epsilon(1e-6));
  CHECK(slower.iteration == slower.forward + slower.backward + slower.optimizer +
                                slower.slowest_gpu + slower.unexplained);
  CHECK(simulate_times(Job(workload, slowed_nodes(1, 1), options, FreeModel{})).iteration ==
        160_us);
}

TEST_CASE(
    "multi-GPU slowdown: a recording with more slowdown than this job makes compute shorter, not "
    "the overhead negative") {
  SimulationOptions options = small::bare();
  options.rank_slowdown = {.several_gpus = 0.25};
  Workload workload = recorded_alone();
  workload.recorded_with.world_size = 8;
  const StepTimes times = simulate_times(Job(workload, slowed_nodes(1, 1), options, FreeModel{}));
  CHECK(times.iteration == 128_us);
  CHECK(times.forward == 40_us);
  CHECK(times.unexplained == Duration());
}

TEST_CASE(
    "multi-GPU slowdown: no part of a step loses more than it has, and the slowest GPU's share "
    "comes first") {
  // Forward took 100 us, of which `left` belong to the step. The rest overlapped the step before.
  SimulationOptions options = small::bare();
  options.rank_slowdown = {.gpu_spread = 0.1, .several_gpus = 0.1};
  const Job job(recorded_alone(), slowed_nodes(1, 8), options, FreeModel{});
  const Duration slowest = (100_us).scaled(1 / 1.24236).scaled(0.14236);
  const Duration rest = (100_us).scaled(1 / 1.24236).scaled(0.1);
  const auto of = [&](Duration left) {
    StepTimes work;
    work.forward = 100_us;
    StepTimes times;
    times.forward = left;
    attribute_slowdown(work, job, times);
    CHECK(times.forward + times.slowest_gpu + times.unexplained == left);
    return times;
  };
  CHECK(of(100_us).slowest_gpu.microseconds() == doctest::Approx(slowest.microseconds()));
  CHECK(of(100_us).unexplained.microseconds() == doctest::Approx(rest.microseconds()));
  CHECK(of(15_us).slowest_gpu == of(100_us).slowest_gpu);
  CHECK(of(15_us).unexplained == 15_us - of(15_us).slowest_gpu);
  CHECK(of(15_us).forward == Duration());
  CHECK(of(10_us).slowest_gpu == 10_us);
  CHECK(of(10_us).unexplained == Duration());
}

TEST_CASE("multi-GPU slowdown: each term widens the interval until a measured step is given") {
  SimulationOptions options = small::bare();
  options.rank_slowdown = {.gpu_spread = 0.01, .several_gpus = 0.03};
  options.rank_slowdown_range = {
      {RankSlowdown{.gpu_spread = 0.003}, RankSlowdown{.gpu_spread = 0.016, .several_gpus = 0.1}}};
  const Workload workload = recorded_alone();
  const Cluster cluster = slowed_nodes(1, 8);
  const StepTimes step = simulate_times(Job(workload, cluster, options, FreeModel{}));
  const Confidence guessed =
      assess(Job(workload, cluster, options, FreeModel{}), step, std::nullopt);
  const auto of = [&](ErrorSource source) {
    const auto found = std::ranges::find(guessed.sensitivities, source, &Sensitivity::source);
    REQUIRE(found != guessed.sensitivities.end());
    return std::pair(found->low.microseconds(), found->high.microseconds());
  };
  CHECK(of(ErrorSource::gpu_spread).first == doctest::Approx(-160 * 0.007 * 1.4236).epsilon(1e-3));
  CHECK(of(ErrorSource::gpu_spread).second == doctest::Approx(160 * 0.006 * 1.4236).epsilon(1e-3));
  CHECK(of(ErrorSource::rank_slowdown).first == doctest::Approx(-160 * 0.03).epsilon(1e-3));
  CHECK(of(ErrorSource::rank_slowdown).second == doctest::Approx(160 * 0.07).epsilon(1e-3));
  CHECK(names(guessed, "on 8 ranks compute takes 4.4 % longer"));
  REQUIRE(guessed.measure_next);
  CHECK(guessed.measure_next->then == "ddpsim simulate WORKLOAD CLUSTER --measured-step TIME");

  options.compute_scale_range = {0.8, 1.25};  // a measured step includes this, too
  const Confidence checked = assess(Job(workload, cluster, options, FreeModel{}), step,
                                    Replay{step.iteration, step.iteration});
  CHECK(checked.high_percent == doctest::Approx(0.5));
  CHECK_FALSE(names(checked, "slower on"));
  CHECK(checked.measure_next == std::nullopt);
}

TEST_CASE(
    "rank slowdown: shared_by sets how many micro-batches share the allowance, and the recorded "
    "share does not change") {
  const Cluster two = slowed_nodes(1, 2);
  RankSlowdown terms = kTerms;
  CHECK(slowdown_shares(terms, two, 4).unexplained == doctest::Approx(0.05 / 4));
  terms.shared_by = 1;
  CHECK(slowdown_shares(terms, two, 4).unexplained == doctest::Approx(0.05));
  Workload under_ddp = recorded_alone();
  under_ddp.recorded_with.ddp_hooks = true;
  CHECK(shares_beyond_recording(terms, under_ddp, two, 4).unexplained ==
        doctest::Approx((0.05 - 0.01) / 1.01));
}
