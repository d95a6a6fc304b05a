// A measured step differs from the prediction: the times that compute or collectives would need.
#include "ddpsim/sim/certainty/measured_correction.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "alpha_beta.hpp"
#include "ddpsim/sim/compare/compare.hpp"
#include "tune_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::step_of_1000;
using small::three_queued;

namespace {

void check(const Job& job, Duration measured, Cause cause, double compute, double collectives) {
  const Explanation found = explain(job, measured, cause);
  CHECK(found.compute == doctest::Approx(compute).epsilon(1e-7));
  CHECK(found.collectives == doctest::Approx(collectives).epsilon(1e-7));
  const Duration step = simulate_times(explained(job, found)).iteration;
  CHECK(step == found.times.iteration);
  CHECK(std::max(step - measured, measured - step) <= 2_ps);
}

void check(const Job& job, Duration measured, double compute, double collectives) {
  check(job, measured, Cause::compute, compute, 1);
  check(job, measured, Cause::communication, 1, collectives);
}

/// The gradient that ends backward at `backward_us` is not DDP's, so the all-reduce, ready earlier,
/// is hidden.
small::OpenJob hidden(double ready_us, double backward_us, double all_reduce_us) {
  small::OpenJob job{
      .workload = small::chain({{4 << 20, ready_us}, {4, backward_us}}, 100, backward_us),
      .model = small::alpha_beta(all_reduce_us / 2, all_reduce_us / 8)};
  job.workload.parameters[0].ignored = true;
  return job;
}

}  // namespace

TEST_CASE("measured correction: a step that takes longer, a shorter one, one as predicted") {
  check(step_of_1000(), 1200_us, 1.5, 4.0 / 3);
  check(step_of_1000(), 940_us, 0.85, 0.9);
  check(step_of_1000(), 1000_us, 1, 1);
}

TEST_CASE("measured correction: the measured step includes the uncertainty of the GPUs' speed") {
  small::OpenJob job = step_of_1000();
  job.options.compute_scale_range = {0.5, 1.1};
  job.options.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{.several_gpus = 0.3}};
  const Job now = explained(job, explain(job, 1200_us, Cause::compute));
  CHECK(now.options().compute_scale == doctest::Approx(1 / 1.5));
  CHECK_FALSE(now.options().compute_scale_range);
  CHECK_FALSE(now.options().rank_slowdown_range);
}

TEST_CASE("measured correction: compute is no faster than a GPU of its kind may be") {
  // 0.75 would suffice. At 0.79 compute takes 316 us, and 584 us remain for the 600 us of the
  // all-reduce.
  check(step_of_1000(), 900_us, Cause::compute, 0.79, 584.0 / 600);
  // A GPU that was not recorded may be faster by its uncertainty.
  small::OpenJob other = step_of_1000();
  other.options.compute_scale_range = {0.5, 1.25};
  check(other, 900_us, Cause::compute, 0.75, 1);
}

TEST_CASE(
    "measured correction: hidden collectives explain no shorter step, and only a much longer one") {
  const small::OpenJob job = hidden(100, 500, 300);
  REQUIRE(job.step() == 600_us);
  check(job, 480_us, Cause::communication, 0.8, 1);
  check(job, 900_us, Cause::communication, 1, 7.0 / 3);  // ready at 200
  // 12 times 10 us end after 320.
  check(hidden(100, 500, 10), 900_us, Cause::communication, 1.5, 1);
}

TEST_CASE("measured correction: collectives explain what they can, compute the rest") {
  // 10 us of 410 become at most 121, so 529 us remain for the 400 us of compute.
  const small::OpenJob little{.workload = small::chain({{4 << 20, 300}}, 100, 300),
                              .model = small::alpha_beta(6, 1)};
  REQUIRE(little.step() == 410_us);
  check(little, 650_us, Cause::communication, 529.0 / 400, 12.1);
  // Ready at 400 and hidden by the backward that ends at 450 if it takes 50 of its 100 us, but no
  // less. Then 400 x + 50 must be 420.
  const small::OpenJob exposed = hidden(300, 350, 100);
  REQUIRE(exposed.step() == 500_us);
  check(exposed, 420_us, Cause::communication, 0.925, 0.5);
}

TEST_CASE(
    "measured correction: recorded and free collectives, and a single GPU's, explain nothing") {
  small::OpenJob job = step_of_1000();
  for (const CollectiveModel& model :
       {CollectiveModel(RecordedModel{.durations = {600_us}}), CollectiveModel(FreeModel{})}) {
    job.model = model;
    const Duration step = job.step();
    check(job, step + 100_us, Cause::communication, 1.25, 1);
  }
  job.model = small::alpha_beta(200, 100);
  job.cluster.gpus_per_node = 1;
  REQUIRE(job.step() == 400_us);
  check(job, 500_us, Cause::communication, 1.25, 1);
}

TEST_CASE("measured correction: absent if replay and measurement belong to two jobs") {
  const small::OpenJob job = step_of_1000();
  CHECK_FALSE(correct(job, std::nullopt));
  CHECK_FALSE(correct(job, Replay{499_us, 1000_us}));
  CHECK_FALSE(correct(job, Replay{2001_us, 1000_us}));
  const auto twice = correct(job, Replay{2000_us, 1000_us});
  REQUIRE(twice);
  CHECK(twice->all_compute.compute == doctest::Approx(3.5));
  CHECK(twice->all_communication.collectives == doctest::Approx(1600.0 / 600));
}

TEST_CASE("measured correction: the longest stream is the recorded compute, of the slowest rank") {
  small::OpenJob job = step_of_1000();
  job.workload.optimizer = 50_us;
  CHECK(longest_stream(job) == 450_us);
  job.options.compute_scale = 2;
  CHECK(longest_stream(job) == 225_us);
  job.options.compute_scale_range = {1.5, 2.5};
  CHECK(longest_stream(job) == 180_us);
  job.options = small::bare();
  job.options.accumulate = 3;
  CHECK(longest_stream(job) == 1250_us);
  job.options = small::bare();
  job.workload.recorded_with.buffer_broadcast = 30_us;  // counts as communication
  CHECK(longest_stream(job) == 420_us);
  job.workload.recorded_with.buffer_broadcast.reset();
  // 70 us of the next forward overlap a step of 450 us.
  job.workload.iteration = 380_us;
  CHECK(longest_stream(job) == 380_us);
  job.workload.iteration.reset();
  job.options.accumulate = 2;
  job.workload.busy = PartTimes{.forward = 40_us, .backward = 200_us, .optimizer = 10_us};
  // Waits for the host are not compute.
  CHECK(longest_stream(job) == 490_us);
  job.options = small::bare();
  job.workload.busy.reset();
  RankRecording slow;
  slow.forward = 200_us;
  slow.backward = job.workload.backward;
  job.workload.ranks = {slow};
  CHECK(longest_stream(job) == 500_us);
}

TEST_CASE("tune: the gain of a cap is weighed under both causes of the residual") {
  // Compute takes 2300 of 4600 us and the two all-reduces 2300, so 4830 is 1.1 times either.
  //
  //   compute        one bucket 2500 * 1.1 + 1300         = 4050: a gain of 780
  //   communication             2500       + 1300 * 1.1   = 3930:           900
  //
  // With collectives at 0.6 of their predicted time, compute must take 1.5 times as long, and the
  // gain is 300. At 1.7, compute would be too fast for any GPU. It then takes 0.79, and collectives
  // take 3013 us instead of 3910. The gain is 4830 less 2500 * 0.79 and 2210 * 3013 / 3910. If
  // collectives explain the residual, their time is fixed, whatever was predicted.
  const small::OpenJob job = three_queued(2200, 100, 1000, 100);
  REQUIRE(job.step() == 4600_us);
  const TuneResult result = job.tune({.replay = Replay{4830_us, 4600_us}});
  CHECK(result.default_setting.iteration == 4830_us);
  CHECK(result.default_setting.if_communication == 4830_us);
  CHECK(result.best.iteration == 4050_us);
  CHECK(result.best.if_communication == 3930_us);
  CHECK(result.recommended.set);
  REQUIRE(result.by_cause.size() == 2);
  for (const AdviceByCause& advice : result.by_cause) {
    CHECK(advice.set);
    CHECK(advice.bucket_cap_mb == result.recommended.bucket_cap_mb);
  }
  const auto near = [](Duration found, double us) {
    CHECK(found.microseconds() == doctest::Approx(us).epsilon(1e-9));
  };
  const double most = 4830 - 2500 * 0.79 - 2210.0 * 3013 / 3910;
  near(result.by_cause[0].gain.value, 780);
  near(result.by_cause[0].gain.low, 300);
  near(result.by_cause[0].gain.high, most);
  near(result.by_cause[1].gain.value, 900);
  near(result.by_cause[1].gain.low, 900);
  near(result.by_cause[1].gain.high, 900);
  near(result.recommended.gain.value, (780 + 900) / 2.0);
  near(result.recommended.gain.low, 300);
  near(result.recommended.gain.high, std::max(900.0, most));
}

TEST_CASE("tune: a cap that gains under only one cause is not recommended but reported") {
  // Compute takes 1100 of 2050 us and the two all-reduces 950. 2525 us means 1.5 times the latter,
  // and one bucket gains 1.5 * 250 - 200 us. Otherwise compute takes 1575 / 1100 times as long, and
  // one bucket loses.
  const small::OpenJob job = three_queued(1000, 100, 250, 150);
  REQUIRE(job.step() == 2050_us);
  const TuneResult result = job.tune({.replay = Replay{2525_us, 2050_us}});
  CHECK_FALSE(result.recommended.set);
  CHECK(result.recommended.depends_on_cause);
  CHECK(result.recommended.python.empty());
  REQUIRE(result.by_cause.size() == 2);
  CHECK(result.by_cause[0].cause == Cause::compute);
  CHECK_FALSE(result.by_cause[0].set);
  CHECK(result.by_cause[1].cause == Cause::communication);
  CHECK(result.by_cause[1].set);
  CHECK(result.by_cause[1].gain.value == 175_us);
  // Nothing to distinguish: no cap is worth it in either case.
  const TuneResult neither =
      three_queued(1000, 150, 250, 150).tune({.replay = Replay{2200_us, 2100_us}});
  CHECK_FALSE(neither.recommended.depends_on_cause);
  CHECK_FALSE(neither.recommended.set);
}

TEST_CASE("tune: nothing is recommended if a measured step contradicts the replay") {
  const small::OpenJob job = three_queued(1000, 100, 1000, 100);
  REQUIRE(job.advice().set);
  const TuneResult result = job.tune({.replay = Replay{1699_us, 3400_us}});
  CHECK_FALSE(result.recommended.set);
  CHECK(result.recommended.reason ==
        "the measured step contradicts its replay: another job was recorded");
  CHECK(result.by_cause.empty());
  CHECK(result.default_setting.iteration == 3400_us);
}

namespace {

Comparison compared(const std::vector<small::OpenJob>& jobs,
                    const std::map<std::size_t, Duration>& measured) {
  std::vector<Job> candidates(jobs.begin(), jobs.end());
  CompareOptions options{.threads = 1};
  options.measured.resize(jobs.size());
  for (const auto& [job, step] : measured) options.measured[job] = MeasuredStep{step};
  return compare(candidates, options);
}

Comparison compared(const std::vector<small::OpenJob>& jobs, std::size_t measured, Duration step) {
  return compared(jobs, {{measured, step}});
}

small::OpenJob of_cluster(const std::string& name, int gpus, int nodes = 1) {
  small::OpenJob job = step_of_1000();
  job.cluster.name = name;
  job.cluster.gpus_per_node = gpus;
  job.cluster.nodes = nodes;
  job.cluster.network = {
      .kind = NetworkKind::tcp, .nics_per_node = 1, .per_nic = 1000000_GBps, .latency = {}};
  return job;
}

/// Nodes of another kind.
small::OpenJob elsewhere(int gpus, int nodes = 1) {
  small::OpenJob job = of_cluster("other", gpus, nodes);
  job.cluster.cpu = CpuVendor::amd;
  return job;
}

}  // namespace

TEST_CASE("compare: a measured step is used, and its residual applies to other sizes too") {
  // On four GPUs 2 * 3 / 4 of the bytes pass: 200 + 600 us. The measured 1200 us of two GPUs mean
  // that compute of 400 us takes 1.5 times as long, or collectives 4 / 3.
  const Comparison comparison =
      compared({of_cluster("node", 2), of_cluster("node", 4), elsewhere(4)}, 0, 1200_us);
  const ComparedJob& two = comparison.jobs[0];
  CHECK(two.times.iteration == 1200_us);
  CHECK(two.confidence.low_percent == doctest::Approx(-0.5));
  CHECK(two.replay->predicted == 1000_us);
  CHECK(two.times.alone() == 400_us);  // as recorded; one GPU was not measured
  const ComparedJob& four = comparison.jobs[1];
  CHECK(four.corrected_by == 0);
  CHECK(four.times.iteration == 1400_us);
  CHECK(four.times.alone() == 400_us);
  const auto& sources = four.confidence.sensitivities;
  const auto residual = std::find_if(sources.begin(), sources.end(), [](const Sensitivity& one) {
    return one.source == ErrorSource::replay_residual;
  });
  REQUIRE(residual != sources.end());
  CHECK(residual->low == -200_us);
  CHECK(residual->high.microseconds() == doctest::Approx(400 + 800 * 4.0 / 3 - 1400).epsilon(1e-6));
  CHECK_FALSE(comparison.jobs[2].corrected_by);
  CHECK(comparison.jobs[2].times.iteration == 1200_us);
}

TEST_CASE("compare: only a single GPU's correction applies to both one node and several") {
  const Comparison wide = compared(
      {of_cluster("node", 2), of_cluster("node", 2, 2), of_cluster("node", 1)}, 0, 1200_us);
  CHECK_FALSE(wide.jobs[1].corrected_by);
  CHECK_FALSE(wide.jobs[2].corrected_by);
  const Comparison from_one =
      compared({of_cluster("node", 2), elsewhere(2, 2), of_cluster("node", 1)}, 2, 480_us);
  CHECK(from_one.jobs[0].corrected_by == 2);
  CHECK(from_one.jobs[1].corrected_by == 2);
  CHECK(from_one.jobs[0].times.iteration == 1080_us);
  CHECK(from_one.jobs[2].times.alone() == 480_us);
}

TEST_CASE("compare: GPUs faster than the recorded ones are also faster alone") {
  const Comparison comparison = compared({of_cluster("node", 2), of_cluster("node", 4)}, 0, 940_us);
  CHECK(comparison.jobs[0].times.alone() == 340_us);
  CHECK(comparison.jobs[1].corrected_by == 0);
  CHECK(comparison.jobs[1].times.alone() == 340_us);
  // A single GPU takes its own measured time.
  const Comparison single = compared({of_cluster("node", 1), elsewhere(1)}, 0, 480_us);
  CHECK(single.jobs[1].corrected_by == 0);
  CHECK(single.jobs[1].times.alone() == 480_us);
}

TEST_CASE("compare: among several measured sizes, the one nearest by factor corrects") {
  const auto corrected_by = [](int size, int one, int other) {
    return compared({of_cluster("node", size), of_cluster("node", one), of_cluster("node", other)},
                    {{1, 1100_us}, {2, 1200_us}})
        .jobs[0]
        .corrected_by.value();
  };
  CHECK(corrected_by(6, 2, 8) == 2);  // 3 times as many, or 3/4
  CHECK(corrected_by(6, 8, 2) == 1);
  CHECK(corrected_by(3, 2, 8) == 1);
  CHECK(corrected_by(3, 8, 2) == 2);
  CHECK(corrected_by(4, 2, 8) == 1);  // equally near, so the first
  CHECK(corrected_by(4, 8, 2) == 1);
}

TEST_CASE("compare: jobs of one cluster share the residual if both are in one node or neither is") {
  // Recorded all-reduces of 600 us explain nothing. The single GPU's 480 us mean that compute of
  // 400 or 800 us takes 1.2 times as long. Without that correction the steps are 1000 and 1400 us
  // instead of 1080 and 1560 us. Both steps would be measured to 0.5 %.
  const auto recorded = [](small::OpenJob job, double compute_us) {
    job.workload = small::chain({{4 << 20, compute_us - 100}}, 100, compute_us - 100);
    job.model = RecordedModel{.durations = {600_us}};
    return job;
  };
  const double ratio = 1560.0 / 1080;
  const auto check_lead = [&](const small::OpenJob& fast, const small::OpenJob& slow, double low,
                              double high) {
    const Comparison comparison =
        compared({of_cluster("node", 1), recorded(fast, 400), recorded(slow, 800)}, 0, 480_us);
    REQUIRE(comparison.jobs[1].times.iteration == 1080_us);
    REQUIRE(comparison.jobs[2].times.iteration == 1560_us);
    REQUIRE(comparison.by_speed.front() == 1);
    const Speedup speedup = comparison.jobs[2].behind;
    const double noise = 2 * std::pow(0.005 * ratio, 2);
    CHECK(speedup.percent == doctest::Approx(100 * (ratio - 1)).epsilon(1e-6));
    CHECK(speedup.low_percent ==
          doctest::Approx(100 * (ratio - std::sqrt(noise + low * low) - 1)).epsilon(1e-6));
    CHECK(speedup.high_percent ==
          doctest::Approx(100 * (ratio + std::sqrt(noise + high * high) - 1)).epsilon(1e-6));
  };
  const double together = ratio - 1400.0 / 1000;
  check_lead(of_cluster("lab", 4), of_cluster("lab", 4), together, 0);
  check_lead(of_cluster("lab", 2, 2), of_cluster("lab", 2, 2), together, 0);
  // Independently, either may be as predicted: the faster in 1000 us, the slower in 1400 us.
  const double slower_alone = ratio - 1400.0 / 1080;
  const double faster_alone = 1560.0 / 1000 - ratio;
  check_lead(of_cluster("lab", 4), of_cluster("lab", 2, 2), slower_alone, faster_alone);
  check_lead(of_cluster("lab", 4), elsewhere(4), slower_alone, faster_alone);
}

TEST_CASE("compare: a measured step that contradicts the prediction corrects nothing") {
  const Comparison comparison =
      compared({of_cluster("node", 2), of_cluster("node", 4)}, 0, 2001_us);
  CHECK(comparison.jobs[0].times.iteration == 1000_us);
  CHECK(comparison.jobs[0].replay->contradicted());
  CHECK_FALSE(comparison.jobs[1].corrected_by);
}

TEST_CASE("measured correction: a recorded host was slowed like its GPU, and speeds up with it") {
  small::OpenJob job;
  job.workload = small::chain({{4 << 20, 250}}, 100, 250, 50);
  job.workload.launch_waits = {.forward = 60_us, .backward = 200_us, .optimizer = 20_us};
  job.workload.host_ready = {240_us};
  job.workload.launches = Launches{
      .forward = 10, .backward = {20}, .optimizer = 5, .cost = PartTimes{9_us, 11_us, 8_us}};
  job.workload.iteration = 420_us;  // a pause of 20 us, which stays
  job.model = RecordedModel{.durations = {40_us}};
  const Duration current = job.step();
  const Explanation faster = explain(job, 300_us, Cause::compute);
  CHECK(faster.times.iteration.microseconds() == doctest::Approx(300).epsilon(1e-6));
  CHECK(faster.compute < 1);
  CHECK(current == 460_us);
  CHECK(faster.times.stall == 20_us);
}
