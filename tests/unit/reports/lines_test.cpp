// Lines that several reports share: subject, setting, replay, confidence, warnings, hint.
#include <doctest/doctest.h>

#include "ddpsim/sim/values/fabric.hpp"
#include "error_source.hpp"
#include "mentions.hpp"
#include "recorded_lines.hpp"
#include "report_lines.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

constexpr TerminalStyle kWidePage{.width = 1000};

/// The setting without the buckets.
std::string setting(const ReportContext& context) {
  return setting_line(setting_text(context, {.buckets = false}), kWidePage);
}

std::string replay(Duration measured, Duration predicted) {
  Trust trust;
  trust.replay = Replay{measured, predicted};
  return replay_line(trust, kWidePage);
}

std::string confidence(const Confidence& confidence, Duration predicted = 100_ms) {
  return interval_line(confidence, predicted, kWidePage);
}

}  // namespace

TEST_CASE("report lines: the workload, the cluster and the number of GPUs") {
  CHECK(subject(sample::context()) == "tiny on dgx1v, 8 GPUs");
  ReportContext context = sample::with(sample::workload("a\nb"), sample::context(1));
  context.provenance.label = "c\x1b";
  CHECK(subject(context) == "a b on c?, 1 GPU");
}

TEST_CASE(
    "report lines: versions and network are always printed, other settings only if they differ "
    "from the recording") {
  CHECK(setting(sample::context()) == "PyTorch 2.8, NCCL 2.27.3, analytic network\n");
  const ReportContext context =
      sample::with(CollectiveModel(flow_model({.nccl = {2, 14, 3}}, Fabric{})),
                   sample::with(SimulationOptions{.torch = {1, 13},
                                                  .scheme = Ddp{.ddp = {.bucket_cap_mb = 50}}}));
  CHECK(setting_text(context) ==
        "PyTorch 1.13, NCCL 2.14.3, flow network; buckets: bucket_cap_mb=50 (1 MiB first, then 50 "
        "MiB)");
}

TEST_CASE("report lines: gloo has no version") {
  CHECK(setting(sample::with(GlooModel{})) == "PyTorch 2.8, gloo, analytic network\n");
}

TEST_CASE("report lines: compute scaled, slowed down by many ranks, or faster than given") {
  const auto said = [](const SimulationOptions& options) { return setting(sample::with(options)); };
  CHECK(said({.compute_scale = 2}).ends_with(" network; compute 2.00 times as fast as recorded\n"));
  CHECK(said({.rank_slowdown = {.given = 0.05}})
            .ends_with(" network; with this many ranks compute is 5.0 % slower than given "
                       "(--gpu-spread, --rank-slowdown)\n"));
  CHECK(said({.rank_slowdown = {.given = -0.25}})
            .ends_with("; with this many ranks compute is 25 % faster than given "
                       "(--gpu-spread, --rank-slowdown)\n"));
}

TEST_CASE("report lines: every way in which ranks can differ") {
  SimulationOptions options;
  options.variation.stragglers = {{.rank = 3, .slowdown = 1.2}, {.rank = 5, .slowdown = 1.5}};
  options.variation.stagger = 4_ms;
  options.variation.jitter = 0.02;
  options.variation.seed = 7;
  CHECK(setting(sample::with(options))
            .ends_with(" network; rank 3 takes 1.2 times as long; rank 5 takes 1.5 times as long; "
                       "starts staggered over 4.00 ms; jitter 2.0 % of each rank's compute, "
                       "log-normal, seed 7\n"));
}

TEST_CASE("report lines: settings are dim, wrapped at the width and indented by two") {
  CHECK(setting_line(setting_text(sample::context(), {.buckets = false}),
                     {.width = 30, .colour = true}) ==
        "\x1b[2mPyTorch 2.8, NCCL 2.27.3,\n  analytic network\x1b[0m\n");
}

TEST_CASE("report lines: a replay is too fast, too slow or, within 0.05 percent, reproduced") {
  CHECK(replay_line({}, {}).empty());
  CHECK(replay(104_ms, 101_ms) ==
        "Current step: measured 104 ms, replayed 101 ms (2.9 % too fast).\n");
  CHECK(replay(100_ms, 110_ms) ==
        "Current step: measured 100 ms, replayed 110 ms (10 % too slow).\n");
  CHECK(replay(100_ms, 100.04_ms) ==
        "Current step: measured 100 ms, replayed 100 ms (reproduced).\n");
  CHECK(replay(100_ms, 100.06_ms) ==
        "Current step: measured 100 ms, replayed 100 ms (0.060 % too slow).\n");
  CHECK(replay(100_ms, 99.96_ms) ==
        "Current step: measured 100 ms, replayed 100 ms (reproduced).\n");
  CHECK(replay(100_ms, 99.94_ms) ==
        "Current step: measured 100 ms, replayed 99.9 ms (0.060 % too fast).\n");
  CHECK(replay(980_us, 1.02_ms) ==
        "Current step: measured 980 µs, replayed 1.02 ms (4.1 % too slow).\n");
}

TEST_CASE("report lines: the interval in the unit of the step, and what it rests on") {
  const auto line = [](Grade grade, double low, double high, Duration predicted) {
    Confidence given{grade, low, high, {"one", "two"}};
    given.provenance = "measured on this cluster";
    return confidence(given, predicted);
  };
  // 200 ms with an interval of -4 to +18 %: 192 to 236 ms.
  CHECK(line(Grade::a, -4, 18, 200_ms) ==
        "80 % interval of the step: 192 to 236 ms; measured on this cluster.\n");
  CHECK(line(Grade::c, -4, 18, 200_ms) ==
        "80 % interval of the step: 192 to 236 ms; measured on this cluster.\n");
  // 940 us plus 10 % are 1034 us, which stay in microseconds.
  CHECK(line(Grade::b, 0, 10, 940_us) ==
        "80 % interval of the step: 940 to 1030 µs; measured on this cluster.\n");
}

TEST_CASE("report lines: the line names the widest source, the reasons name all of them") {
  Confidence given{Grade::a, -10, 20, {"a; b"}};
  given.provenance = "a log";
  given.predicted = 100_ms;
  given.sensitivities = {{ErrorSource::fixed_cost, -6_ms, 10_ms},
                         {ErrorSource::interference, -1_ms, 3_ms}};
  CHECK(confidence(given) ==
        "80 % interval of the step: 90.0 to 120 ms; a log; most of it from fixed cost of "
        "collectives.\n");
  given.measure_next = NextMeasurement{ErrorSource::fixed_cost, "all_reduce_perf", ""};
  CHECK(confidence(given) == "80 % interval of the step: 90.0 to 120 ms; a log.\n");
  CHECK(interval_reasons(given, kWidePage) ==
        "Why the interval runs from -10 % to +20 %:\n"
        "  fixed cost of collectives: -6.0 % to +10 %\n"
        "  interference: -1.0 % to +3.0 %\n"
        "  a; b\n");
}

TEST_CASE("report lines: a source is named if it moves the step by a thousandth or more") {
  Confidence given{Grade::a, -1, 1, {"why"}};
  const auto named = [&](ErrorSource source, Duration low, Duration high) {
    given.predicted = 100_ms;
    given.sensitivities = {{source, low, high}};
    return confidence(given).find("most of it from") != std::string::npos;
  };
  CHECK(named(ErrorSource::compute_scale, -40_us, 60_us));
  CHECK_FALSE(named(ErrorSource::compute_scale, -40_us, 59_us));
  CHECK_FALSE(named(ErrorSource::replay_residual, 0_us, 0_us));
  CHECK_FALSE(named(ErrorSource::measurement_noise, -1_ms, 1_ms));
}

TEST_CASE("report lines: what to measure next, with its command") {
  Confidence given{Grade::c, -1, 1, {"why"}};
  given.measure_next =
      NextMeasurement{ErrorSource::fixed_cost, "all_reduce_perf -b 8", "ddpsim calibrate"};
  CHECK(next_measurement(given, kWidePage) ==
        "Measure next (fixed cost of collectives): all_reduce_perf -b 8; then ddpsim calibrate\n");
}

TEST_CASE("report lines: every error source has its words, and its name in documents") {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"fixed_cost", "fixed cost of collectives"},
      {"bandwidth", "bandwidth of collectives"},
      {"collective_times", "collective times"},
      {"interference", "interference"},
      {"ddp_costs", "copies and host costs"},
      {"gpu_spread", "the slowest GPU"},
      {"rank_slowdown", "multi-GPU overhead"},
      {"compute_scale", "compute scale"},
      {"replay_residual", "replay error"},
      {"measurement_noise", "measurement noise"},
      {"host_delays", "waits for the host, which the profiler may have caused"},
      {"step_spread", "spread of the recorded steps"},
      {"leaf_placement", "which nodes share a leaf switch"},
      {"launch_cost", "host time of a kernel launch"},
      {"recorded_waits", "recorded all-reduces, longer than predicted"}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(name_of(static_cast<ErrorSource>(i)) == all[i].first);
    CHECK(phrase_of(static_cast<ErrorSource>(i)) == all[i].second);
  }
}

TEST_CASE("report lines: warnings follow an empty line, each on its own line; the hint is dim") {
  CHECK(warning_lines({}, {}).empty());
  CHECK(hint_line("", {}).empty());
  const Warnings warnings({"one\x1b", "two"}, 0);
  CHECK(warning_lines(warnings, {}) == "\nwarning: one?\nwarning: two\n");
  CHECK(warning_lines(warnings, {.width = 10}) == "\nwarning:\n  one?\nwarning:\n  two\n");
  CHECK(hint_line("ddpsim tune", {}) == "\nNext: ddpsim tune\n");
  CHECK(hint_line("ddpsim tune", {.colour = true}) == "\n\x1b[2mNext: ddpsim tune\x1b[0m\n");
}

TEST_CASE("report lines: the recorded job, and whether its all-reduces contradict the prediction") {
  ReportContext context = sample::context();
  CHECK(recorded_line(context, kWidePage).empty());
  RecordedJob current;
  current.ranks = 2;
  current.channels = 8;
  current.buckets = {{Bytes(8'196'000), 1_ms, 2_ms, 3_ms, 400_us},
                     {Bytes(448), 9_ms, 10_ms, 11_ms, 310_us}};
  context.provenance.recorded = current;
  CHECK(recorded_line(context, kWidePage) ==
        "Current job: recorded on 2 GPUs. The recording spent 12.0 ms in 2 all-reduces on 8 "
        "channels.\n");
  context.provenance.recorded->comparable = true;
  context.provenance.recorded->predicted_channels = 24;
  CHECK(recorded_line(context, kWidePage) ==
        "Current job: recorded on 2 GPUs. The recording spent 12.0 ms in 2 all-reduces on 8 "
        "channels. This cluster is predicted to need 710 µs on 24 channels, so either it is a "
        "different machine or the recorded ranks waited for each other.\n");
  context.provenance.recorded->buckets[0].predicted = 6_ms;
  CHECK(mentions(recorded_line(context, kWidePage),
                 "This cluster is predicted to need 6.31 ms on 24 channels.\n"));
  context.provenance.recorded->fitted_to_recorded = true;
  CHECK(mentions(recorded_line(context, kWidePage),
                 "need 6.31 ms on 24 channels, by a cost model fitted to the recorded times.\n"));
  context.provenance.recorded->fitted_to_recorded = false;
  context.provenance.recorded->buckets[0].predicted = 15_ms;
  CHECK(mentions(recorded_line(context, kWidePage), "need 15.3 ms on 24 channels.\n"));
  context.provenance.recorded->buckets[0].predicted = 16_ms;
  CHECK(mentions(recorded_line(context, kWidePage),
                 "need 16.3 ms on 24 channels, more than recorded even with waits, so the recorded "
                 "cluster is faster.\n"));
  context.provenance.recorded = current;
  context.provenance.recorded->channels = 0;
  context.provenance.recorded->same_buckets = false;
  CHECK(recorded_line(context, kWidePage) ==
        "Current job: recorded on 2 GPUs. The recording spent 12.0 ms in 2 all-reduces. Its "
        "buckets (8.2, 0.000448 MB) differ from PyTorch 2.8's default and fit no split of the "
        "gradients. The default is simulated, and gains count from it.\n");
  context.provenance.recorded->others.resize(2);
  CHECK(mentions(recorded_line(context, kWidePage),
                 " Its buckets (8.2, 0.000448 MB) are not replayed: the first steps of a training "
                 "run have different ones.\n"));
  context = sample::with(SimulationOptions{.buckets = std::vector<Bucket>()}, context);
  CHECK(mentions(recorded_line(context, kWidePage),
                 " Its buckets (8.2, 0.000448 MB) are replayed as recorded: no bucket cap gives "
                 "them.\n"));
  context.trust.replay.emplace();
  CHECK(mentions(recorded_line(context, kWidePage), "Recorded on 2 GPUs. The recording spent"));
  context.trust.replay.reset();
  context.provenance.recorded->setting = BucketSetting{{2, 4}, 2, std::nullopt};
  CHECK(mentions(recorded_line(context, kWidePage),
                 "replayed as recorded; --torch 2.4 --bucket-cap-mb 2 gives the same.\n"));
  context.provenance.recorded->setting = BucketSetting{{2, 8}, std::nullopt, 0.5};
  CHECK(mentions(recorded_line(context, kWidePage),
                 "recorded; --first-bucket-mb 0.5 gives the same.\n"));
  context.provenance.recorded->asked_otherwise = true;
  CHECK_FALSE(mentions(recorded_line(context, kWidePage), "Its buckets"));
}

TEST_CASE("report lines: how much recorded steps vary, and their replay") {
  ReportContext context = sample::context();
  context.provenance.recorded = RecordedJob{};
  context.provenance.recorded->ranks = 2;
  StepSpread& spread = context.provenance.recorded->iterations.emplace();
  spread = {.steps = 5,
            .median = 107_ms,
            .low = 81.8_ms,
            .high = 167_ms,
            .percentiles = false,
            .next_low = {},
            .next_high = {},
            .mean_error = {}};
  CHECK(mentions(recorded_line(context, kWidePage),
                 "Current step: 107 ms recorded on 2 GPUs (median of 5 steps, 81.8 to 167 ms). The "
                 "recording"));
  context.provenance.recorded->comparable = true;
  context.trust.confidence.predicted = 103_ms;
  spread.percentiles = true;
  CHECK(mentions(recorded_line(context, kWidePage),
                 "Current step: 107 ms recorded on 2 GPUs (median of 5 steps, 10th to 90th "
                 "percentile 81.8 to 167 ms), 103 ms replayed. The recording"));
  context.trust.replay = Replay{104_ms, 103_ms};  // has its own line
  CHECK(mentions(recorded_line(context, kWidePage), "Recorded: 107 ms recorded on 2 GPUs"));
  context.trust.confidence.predicted = 104_ms;  // corrected
  CHECK(mentions(recorded_line(context, kWidePage), ", 103 ms replayed. The recording"));
  // Only one of its micro-batches was recorded.
  context = sample::with(SimulationOptions{.accumulate = 2}, context);
  CHECK_FALSE(mentions(recorded_line(context, kWidePage), "replayed"));
  context = sample::with(SimulationOptions{.compute_scale = 2}, context);
  CHECK_FALSE(mentions(recorded_line(context, kWidePage), "replayed"));
}

TEST_CASE("report lines: recorded transfers do not include waits") {
  ReportContext context = sample::context();
  context.provenance.recorded = RecordedJob{};
  context.provenance.recorded->comparable = context.provenance.recorded->waits_apart = true;
  context.provenance.recorded->buckets = {{Bytes(448), 10_ms, 10_ms, 10_ms, 4_ms}};
  CHECK(
      mentions(recorded_line(context, kWidePage), "need 4.00 ms, so it is a different machine.\n"));
  context.provenance.recorded->buckets[0].predicted = 14_ms;
  CHECK(mentions(recorded_line(context, kWidePage),
                 "need 14.0 ms, so the recorded cluster is faster.\n"));
  context.provenance.recorded->buckets[0].predicted = 12_ms;
  CHECK(mentions(recorded_line(context, kWidePage), "need 12.0 ms.\n"));
}
