// Confidence in a predicted step: interval ends worked out source by source, grades at their
// limits, and the sentences that explain them.
#include "ddpsim/sim/certainty/confidence.hpp"
#include "ddpsim/sim/nccl/correction.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "alpha_beta.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using small::step_of_1000;

namespace {

/// step_of_1000 as a replay: all-reduces take the recorded time.
small::OpenJob replayed_step_of_1000() {
  small::OpenJob job = step_of_1000();
  job.model = RecordedModel{.durations = {600_us}};
  return job;
}

/// In per cent of a step, including the 0.5 % of a measurement.
void check_interval(const Confidence& confidence, double low, double high) {
  CHECK(confidence.low_percent == doctest::Approx(-std::hypot(low, 0.5)).epsilon(1e-7));
  CHECK(confidence.high_percent == doctest::Approx(std::hypot(high, 0.5)).epsilon(1e-7));
}

/// The sources that move the step, except the noise of a measurement.
std::vector<Sensitivity> moving(const Confidence& confidence) {
  std::vector<Sensitivity> found;
  for (const Sensitivity& one : confidence.sensitivities)
    if (one.source != ErrorSource::measurement_noise && one.width() > Duration())
      found.push_back(one);
  return found;
}

void check_source(const Sensitivity& found, ErrorSource source, double low_us, double high_us) {
  CHECK(found.source == source);
  CHECK(found.low.microseconds() == doctest::Approx(low_us).epsilon(1e-9));
  CHECK(found.high.microseconds() == doctest::Approx(high_us).epsilon(1e-9));
}

using Sentences = std::vector<std::string>;
const std::string kFromSpecification =
    "the cluster is not calibrated: collective times come from data sheets";
const std::string kFromGloo =
    "gloo's times come from its cost model and the constants of --gloo, not from this cluster; "
    "such intervals held "
    "89 % of 85 published steps";
const std::string kHalfAPercent = "measurement noise: 0.5 %";

CalibratedShape fitted_log(int nodes, int gpus, const std::string& source = "log.txt") {
  return {.nodes = nodes,
          .gpus_per_node = gpus,
          .smallest = Bytes(8),
          .largest = 1024_MiB,
          .source = source,
          .nccl = {}};
}

Cluster calibrated_on(Cluster cluster, const std::vector<CalibratedShape>& logs) {
  Calibration calibration;
  calibration.constants = constants_of(cluster);
  calibration.shapes = logs;
  cluster.calibration = std::make_shared<const Calibration>(calibration);
  return cluster;
}

}  // namespace

TEST_CASE("confidence: only the measurement it is compared with is uncertain") {
  const small::OpenJob job = replayed_step_of_1000();
  REQUIRE(job.step() == 1000_us);
  const Confidence confidence = job.assess();
  check_interval(confidence, 0, 0);
  CHECK(moving(confidence).empty());
  CHECK(confidence.because == Sentences{kFromSpecification, kHalfAPercent});
  CHECK(confidence.basis == kFromSpecification);
  CHECK(confidence.beyond.empty());
  CHECK_FALSE(confidence.measure_next);
}

TEST_CASE("confidence: collective times alone") {
  const small::OpenJob job = step_of_1000();
  REQUIRE(job.step() == 1000_us);
  const Confidence confidence = job.assess();
  check_interval(confidence, 0.4 * 60, 0.7 * 60);  // 0.6 and 1.7 of 600 us
  REQUIRE(moving(confidence).size() == 1);
  check_source(moving(confidence)[0], ErrorSource::collective_times, -240, 420);
  CHECK(confidence.because == Sentences{kFromGloo, kHalfAPercent});
  CHECK(confidence.basis == kFromGloo);
  REQUIRE(confidence.measure_next);
  CHECK(confidence.measure_next->source == ErrorSource::collective_times);
  CHECK(confidence.measure_next->command ==
        "ddpsim-real WORKLOAD --backend cpu-gloo --all-reduce 1KiB,4MiB -o FOLDER --ranks 2");
}

TEST_CASE("confidence: interference alone, half or twice as much") {
  // An all-reduce of 300 us uses 20 of 80 SMs. Meanwhile 225 us of the remaining 400 us of backward
  // are done, which end after 475 us. With half the loss that is 437.5 us, with twice the loss 550.
  small::OpenJob job{.workload = small::chain({{4 << 20, 100}, {400, 500}}, 425, 500),
                     .model = RecordedModel{.durations = {300_us}, .channels = 20}};
  job.options.interference.sm_share = 1;
  REQUIRE(job.step() == 1000_us);
  const Confidence confidence = job.assess();
  check_interval(confidence, 3.75, 7.5);
  REQUIRE(moving(confidence).size() == 1);
  check_source(moving(confidence)[0], ErrorSource::interference, -37.5, 75);
  CHECK(confidence.measure_next->command ==
        "profile one step of this job under DDP, on rank 0 of this cluster");
}

TEST_CASE("confidence: copies and host costs alone, 0.7 and 1.5 of their assumed values") {
  small::OpenJob job = replayed_step_of_1000();
  job.workload.forward = 80_us;
  job.options.costs.copy_kernel = 10_us;  // into the bucket, and out
  REQUIRE(job.step() == 1000_us);
  const Confidence confidence = job.assess();
  check_interval(confidence, 0.6, 1);
  REQUIRE(moving(confidence).size() == 1);
  check_source(moving(confidence)[0], ErrorSource::ddp_costs, -6, 10);
}

TEST_CASE("confidence: the multi-GPU overhead alone, and its assumed value") {
  small::OpenJob job = replayed_step_of_1000();
  job.workload = small::chain({{4 << 20, 250}}, 50, 250);
  job.model = RecordedModel{.durations = {670_us}};
  job.options.rank_slowdown = {.several_gpus = 0.1};  // 330 us of compute
  REQUIRE(job.step() == 1000_us);
  const std::string taken =
      "on 2 ranks compute takes 10.0 % longer than on one GPU: 0.0 % for the slowest GPU "
      "(--gpu-spread), 10.0 % multi-GPU overhead. By stack it is 0.0 to 30.0 % (--rank-slowdown)";
  CHECK(job.assess().because == Sentences{kFromSpecification, kHalfAPercent});  // certain
  job.options.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{.several_gpus = 0.3}};
  const Confidence confidence = job.assess();
  check_interval(confidence, 3, 6);  // 300 to 390 us
  CHECK(confidence.because == Sentences{kFromSpecification, taken, kHalfAPercent});
  REQUIRE(moving(confidence).size() == 1);
  check_source(moving(confidence)[0], ErrorSource::rank_slowdown, -30, 60);
  CHECK(confidence.measure_next->command ==
        "time twenty steps of this job on this cluster, without a profiler");
}

TEST_CASE("confidence: the multi-GPU overhead names nodes and GPUs, and is absent for one rank") {
  small::OpenJob job = replayed_step_of_1000();
  job.options.rank_slowdown = {.gpu_spread = 0.1, .several_gpus = 0.1, .several_nodes = 0.08};
  job.options.rank_slowdown_range = {job.options.rank_slowdown, job.options.rank_slowdown};
  const auto said = [&](int nodes, int gpus) {
    job.cluster.nodes = nodes;
    job.cluster.gpus_per_node = gpus;
    const Sentences because = job.assess().because;
    return because.size() == 3 ? because[1] : "";
  };
  const auto takes = [](const char* ranks, const char* all, const char* slowest, const char* rest) {
    return fmt::format(
        "on {} compute takes {} % longer than on one GPU: {} % for the slowest GPU "
        "(--gpu-spread), {} % multi-GPU overhead. By stack it is {} to {} % (--rank-slowdown)",
        ranks, all, slowest, rest, rest, rest);
  };
  CHECK(said(1, 4) == takes("4 ranks", "20.3", "10.3", "10.0"));
  CHECK(said(2, 1) == takes("1 rank on each of 2 nodes", "19.6", "5.6", "14.0"));
  CHECK(said(4, 8) == takes("8 ranks on each of 4 nodes", "36.7", "20.7", "16.0"));
  CHECK(said(1, 1).empty());
}

TEST_CASE("confidence: the compute scale alone, slower and faster") {
  small::OpenJob job = replayed_step_of_1000();
  job.options.compute_scale_range = {0.8, 2};  // 400 us of compute become 500 or 200
  const Confidence confidence = job.assess();
  check_interval(confidence, 20, 10);
  REQUIRE(moving(confidence).size() == 1);
  check_source(moving(confidence)[0], ErrorSource::compute_scale, -200, 100);
  CHECK(confidence.measure_next->command == "profile one step on one V100 of this cluster");
}

TEST_CASE("confidence: only its measurement moves a measured step") {
  const small::OpenJob job =
      // Collectives may take 0.6 to 1.7 times as long.
      step_of_1000();
  const Confidence confidence = job.assess(Replay{.measured = 1000_us, .predicted = 960_us});
  check_interval(confidence, 0, 0);
  CHECK(moving(confidence).empty());
  CHECK(confidence.because == Sentences{kFromGloo, kHalfAPercent,
                                        "the current step was replayed with +4.0 % left "
                                        "unexplained"});
  // The step itself is known, but not what it consists of.
  REQUIRE(confidence.measure_next);
  CHECK(confidence.measure_next->command == "profile one step on every rank");
  // Two measurements differ by 1 %.
  CHECK_FALSE(job.assess(Replay{1000_us, 990_us}).measure_next);
  CHECK(job.assess(Replay{1000_us, 1011_us}).measure_next);
}

TEST_CASE("confidence: the unexplained part of a measured step stays on its side") {
  const Confidence confidence = replayed_step_of_1000().assess(Replay{980_us, 1010_us});
  REQUIRE(moving(confidence).size() == 1);
  check_source(moving(confidence)[0], ErrorSource::replay_residual, -20, 0);
}

TEST_CASE(
    "confidence: several measured steps tell more than one value, but no less than its noise") {
  const small::OpenJob job = step_of_1000();
  const auto spread = [&](Duration low, Duration high) {
    return job.assess(
        Replay{.measured = 1000_us, .predicted = 1000_us, .spread = MeasuredSpread{12, low, high}});
  };
  const Confidence wide = spread(980_us, 1100_us);
  CHECK(wide.low_percent == doctest::Approx(-2));
  CHECK(wide.high_percent == doctest::Approx(10));
  CHECK(wide.because[1] ==
        "12 steps were measured; the 80 % interval of a further one is -2.0 to +10.0 % from "
        "the median");
  CHECK(spread(999_us, 1001_us).low_percent == doctest::Approx(-0.5));
  CHECK(spread(999_us, 1001_us).high_percent == doctest::Approx(0.5));
}

TEST_CASE("confidence: the interval reaches a contradicting measurement, and no step is negative") {
  const small::OpenJob job = replayed_step_of_1000();
  const Confidence far = job.assess(Replay{.measured = 10_us, .predicted = 1000_us});
  CHECK(far.grade == Grade::c);
  CHECK(far.low_percent == doctest::Approx(-99.005));  // 10 us with its 0.5 %
  CHECK(far.high_percent == doctest::Approx(0.5));
  const Confidence slow = job.assess(Replay{.measured = 3000_us, .predicted = 1000_us});
  CHECK(slow.low_percent == doctest::Approx(-0.5));
  CHECK(slow.high_percent == doctest::Approx(201.5));
  // Each of these sources alone takes nearly all of a step.
  small::OpenJob open = step_of_1000();
  open.workload = small::chain({{4 << 20, 0}}, 400, 0);
  open.options.compute_scale_range = {0.1, 1000};
  open.model = small::alpha_beta(200, 100);
  CHECK(open.assess().low_percent >= -100);
}

TEST_CASE("confidence: two sources add up as squares, widest first") {
  small::OpenJob job = step_of_1000();
  job.options.compute_scale_range = {0.8, 2};
  const Confidence both = job.assess();
  check_interval(both, std::hypot(24, 20), std::hypot(42, 10));
  REQUIRE(moving(both).size() == 2);
  check_source(moving(both)[0], ErrorSource::collective_times, -240, 420);  // 66 wide
  check_source(moving(both)[1], ErrorSource::compute_scale, -200, 100);     // 30
  CHECK(both.measure_next->source == ErrorSource::collective_times);
  // Reversed: compute of 400 us may be 200 to 2000 us.
  job.options.compute_scale_range = {0.2, 2};
  const Confidence wider = job.assess();
  check_interval(wider, std::hypot(24, 20), std::hypot(42, 160));
  check_source(moving(wider)[0], ErrorSource::compute_scale, -200, 1600);
  CHECK(wider.measure_next->source == ErrorSource::compute_scale);
}

TEST_CASE(
    "confidence: multi-GPU overhead and compute scale are certain once the step is measured") {
  small::OpenJob job = replayed_step_of_1000();
  job.options.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{.several_gpus = 0.3}};
  job.options.compute_scale_range = {0.8, 2};
  CHECK(moving(job.assess()).size() == 2);
  const Confidence replayed = job.assess(Replay{1000_us, 1000_us});
  check_interval(replayed, 0, 0);
  // A residual of zero is listed too.
  CHECK(replayed.sensitivities.size() == 2);
}

TEST_CASE("confidence: of two equally wide sources, the one simulated first is named first") {
  small::OpenJob job = replayed_step_of_1000();
  job.options.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{.several_gpus = 0.25}};
  job.options.compute_scale_range = {0.8, 1};
  const Confidence confidence = job.assess();
  REQUIRE(moving(confidence).size() == 2);
  check_source(moving(confidence)[0], ErrorSource::rank_slowdown, 0, 100);
  check_source(moving(confidence)[1], ErrorSource::compute_scale, 0, 100);
  // For a measured step: the residual of the replay, then noise. The measured steps spread by 100
  // us.
  const Confidence measured =
      job.assess(Replay{.measured = 1100_us,
                        .predicted = 1100_us,
                        .spread = MeasuredSpread{.steps = 10, .low = 1050_us, .high = 1150_us}});
  REQUIRE(measured.sensitivities.size() == 2);
  check_source(measured.sensitivities[0], ErrorSource::replay_residual, 0, 100);
  check_source(measured.sensitivities[1], ErrorSource::measurement_noise, -50, 50);
}

TEST_CASE("confidence: every source is listed, widest first, and together they are the interval") {
  small::OpenJob job = step_of_1000();
  job.options.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{.several_gpus = 0.1}};  // 40 us
  const Confidence confidence = job.assess(std::nullopt);
  std::vector<ErrorSource> listed;
  for (const Sensitivity& one : confidence.sensitivities) listed.push_back(one.source);
  CHECK(listed == std::vector<ErrorSource>{ErrorSource::collective_times,
                                           ErrorSource::rank_slowdown,
                                           ErrorSource::measurement_noise,
                                           ErrorSource::interference, ErrorSource::ddp_costs});
  double low = 0;
  double high = 0;
  for (const Sensitivity& one : confidence.sensitivities) {
    low = std::hypot(low, one.low / 1000_us);
    high = std::hypot(high, one.high / 1000_us);
  }
  CHECK(confidence.low_percent == doctest::Approx(-100 * low));
  CHECK(confidence.high_percent == doctest::Approx(100 * high));
}

TEST_CASE("confidence: gloo on a single GPU rests on nothing") {
  small::OpenJob job = step_of_1000();
  job.cluster.gpus_per_node = 1;
  job.model = small::alpha_beta(200, 100);
  CHECK(job.assess().because == Sentences{kHalfAPercent});
  CHECK(job.assess().basis.empty());
}

TEST_CASE("confidence: replays, their residual and when it is small enough") {
  const Replay slower{.measured = 1000_us, .predicted = 950_us};
  CHECK(slower.residual() == 50_us);
  CHECK(slower.missed() == 50_us);
  CHECK(slower.missed_share() == 0.05);
  CHECK(slower.reproduced());
  CHECK_FALSE(Replay{1000_us, 949_us}.reproduced());
  const Replay faster{.measured = 1000_us, .predicted = 1050_us};
  CHECK(faster.residual() == -50_us);
  CHECK(faster.missed() == 50_us);
  CHECK(faster.reproduced());
  CHECK_FALSE(Replay{1000_us, 1051_us}.reproduced());
}

TEST_CASE(
    "confidence: grade C without a log, B with one, A if the current step was reproduced too") {
  const Cluster bare = small::node(8);
  const Cluster logged = calibrated_on(bare, {fitted_log(1, 8)});
  CHECK(grade_of(bare, false) == Grade::c);
  CHECK(grade_of(bare, true) == Grade::c);
  CHECK(grade_of(logged, false) == Grade::b);
  CHECK(grade_of(logged, true) == Grade::a);
  // Beyond the measured scales, no measured step helps.
  CHECK(grade_of(calibrated_on(bare, {fitted_log(1, 4)}), true) == Grade::b);
  CHECK(name_of(Grade::a) == "A");
  CHECK(name_of(Grade::b) == "B");
  CHECK(name_of(Grade::c) == "C");
}

TEST_CASE("confidence: a step's grade depends on its cluster's logs and on the current step") {
  small::OpenJob job = replayed_step_of_1000();
  job.cluster = calibrated_on(small::node(8), {fitted_log(1, 8)});
  job.model = AnalyticModel{};
  CHECK(job.assess().grade == Grade::b);
  CHECK(job.assess(Replay{1000_us, 950_us}).grade == Grade::a);
  CHECK(job.assess(Replay{1000_us, 949_us}).grade == Grade::b);
  CHECK(job.assess(Replay{1000_us, 2000_us}).grade == Grade::b);
  CHECK(job.assess(Replay{1000_us, 2001_us}).grade ==
        Grade::c);  // of another job, so nothing is known
  CHECK(job.assess().beyond.empty());
  job.cluster = calibrated_on(small::node(8), {fitted_log(1, 4), fitted_log(1, 2)});
  job.model = AnalyticModel{};
  const Confidence beyond = job.assess(Replay{1000_us, 1000_us});
  CHECK(beyond.grade == Grade::b);
  CHECK(beyond.beyond == "8 GPUs per node lie beyond the calibrated range (2..4 GPUs)");
  CHECK(beyond.because.front() ==
        "the cluster is calibrated with 2 logs of it, but 8 GPUs per node lie beyond the "
        "calibrated range (2..4 GPUs)");
  // NCCL's logs tell nothing about gloo or a replay.
  for (const CollectiveModel& model :
       {small::alpha_beta(200, 100), CollectiveModel(RecordedModel{.durations = {600_us}})}) {
    job.model = model;
    CHECK(job.assess(Replay{1000_us, 1000_us}).grade == Grade::c);
    CHECK(job.assess().beyond.empty());
  }
}

TEST_CASE("confidence: the basis of collective times, in words") {
  const Cluster bare = small::node(8);
  CHECK(calibration_of(bare) == kFromSpecification);
  CHECK(calibration_of(calibrated_on(bare, {fitted_log(1, 8)})) ==
        "the cluster is calibrated with 1 log of it");
  CHECK(calibration_of(calibrated_on(bare, {fitted_log(1, 8), fitted_log(2, 8)})) ==
        "the cluster is calibrated with 2 logs of it");
  CHECK(calibration_of(calibrated_on(bare, {fitted_log(2, 8)})) ==
        "the cluster is calibrated with 1 log of it, but 1 node lies beyond the calibrated range "
        "(2 nodes)");
  CalibratedShape one_rank = fitted_log(1, 8);
  one_rank.timed_by = TimedBy::one_rank;
  CHECK(calibration_of(calibrated_on(bare, {one_rank})) ==
        "the cluster is calibrated with the shortest recorded all-reduces of one rank");
  CalibratedShape joined = fitted_log(1, 8);
  joined.timed_by = TimedBy::joined_ranks;
  CHECK(calibration_of(calibrated_on(bare, {fitted_log(1, 8), joined, one_rank})) ==
        "the cluster is calibrated with 1 log of it and the recorded all-reduces of joined ranks "
        "and the shortest recorded all-reduces of one rank");
}

TEST_CASE("confidence: the grade in words, and an estimate is never called calibrated") {
  small::OpenJob job = replayed_step_of_1000();
  job.model = AnalyticModel{};
  job.cluster = small::node(8);
  CHECK(job.assess().provenance == "not calibrated: data sheets");
  job.cluster = calibrated_on(small::node(8), {fitted_log(1, 8)});
  CHECK(job.assess().provenance == "calibrated by logs of this cluster");
  CHECK(job.assess(Replay{1000_us, 950_us}).provenance == "measured on this cluster");
  CHECK(job.assess(Replay{1000_us, 2001_us}).provenance == "contradicted by the measured step");
  CalibratedShape published = fitted_log(1, 8);
  published.published = true;
  CHECK(provenance_of(calibrated_on(small::node(8), {published}), Grade::b) ==
        "calibrated by published logs");
  CalibratedShape joined = fitted_log(1, 8);
  joined.timed_by = TimedBy::joined_ranks;
  CHECK(provenance_of(calibrated_on(small::node(8), {joined}), Grade::b) ==
        "calibrated by recorded all-reduces");
  CHECK(provenance_of(calibrated_on(small::node(8), {joined}), Grade::c) ==
        "calibrated far from this job");
  job.workload.provenance.emplace_back(kEstimateMark, "of a roofline");
  CHECK(job.assess().provenance ==
        "compute estimated, collectives calibrated by logs of this cluster");
  job.model = small::alpha_beta(200, 100);
  CHECK(job.assess().provenance ==
        "compute estimated, collectives not calibrated: gloo's cost model");
}

TEST_CASE("replay: contradicted beyond twice or half of the measured step, exclusive") {
  CHECK_FALSE(Replay{100_ms, 200_ms}.contradicted());
  CHECK(Replay{100_ms, 200_ms + 1_us}.contradicted());
  CHECK_FALSE(Replay{100_ms, 50_ms}.contradicted());
  CHECK(Replay{100_ms, 50_ms - 1_us}.contradicted());
  CHECK_FALSE(Replay{100_ms, 100_ms}.contradicted());
}
