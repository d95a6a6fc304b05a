// The whole text of `tune`, and each of its verdicts on either side of its condition.
#include <doctest/doctest.h>

#include "first_line.hpp"
#include "mentions.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

constexpr TerminalStyle kWide{.width = 300};

CurvePoint point(std::optional<double> cap, std::pair<double, double> range, Duration iteration,
                 Duration exposed, std::size_t buckets) {
  CurvePoint point;
  point.bucket_cap_mb = cap;
  point.first_bucket_mb = cap.value_or(1);
  point.cap_range_mb = range;
  point.iteration = iteration;
  point.blocking_communication = exposed;
  point.buckets = buckets;
  return point;
}

/// Four bucket assignments and one that cannot be set. 60 MiB is advised.
TuneResult advised() {
  TuneResult tune = sample::set();
  tune.default_setting = point(std::nullopt, {0, 0}, 320_ms, 30_ms, 5);
  tune.best = point(60, {60, 64.5}, 279_ms, 9_ms, 2);
  CurvePoint out_of_reach = point(40, {30, 50}, 281_ms, 8_ms, 3);
  out_of_reach.reachable = false;
  tune.curve = {point(1, {0.5, 1.5}, 340_ms, 50_ms, 61), tune.default_setting, out_of_reach,
                tune.best, point(100, {90, kNoLimitMb}, 300_ms, 20_ms, 1)};
  tune.lower_bound = 270_ms;
  tune.best_partition->iteration = 276_ms;
  return tune;
}

/// The default is kept. It takes 98 ms, the best cap gains 8 ms, and 1 ms is measurable.
TuneResult kept() {
  TuneResult tune = sample::keep();
  tune.best.iteration = 90_ms;
  tune.recommended.reason = "some scenarios lose by it";
  tune.recommended.most_robust = Gain{7_ms, -Duration::milliseconds(3), 12_ms};
  return tune;
}

std::string page(const TuneResult& tune, const ReportContext& context = sample::context()) {
  return tune_text(sample::tuned(tune, context), kWide);
}

ReportContext replayed(Duration measured, Duration predicted) {
  ReportContext context = sample::context();
  context.trust.replay = Replay{measured, predicted};
  return context;
}

/// The row of the curve that begins with this cap.
std::string row(const TuneResult& tune, const std::string& cap) {
  const std::string text = page(tune);
  const std::size_t at = text.find(" " + cap + " ", text.find("bucket_cap_mb  ")) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

// Above the bound of 270 ms: 320 by 50, 340 by 70 (all twelve cells), 279 by 9, 300 by 30. Numbers
// have two digits.
TEST_CASE("tune page: an advised cap") {
  CHECK(
      tune_text(sample::tuned(advised()), {.width = 110}) ==
      R"(Set bucket_cap_mb=60: saves 41 ms of 320 ms (80 % interval 30 to 52 ms; not calibrated: data sheets).

    DistributedDataParallel(model, bucket_cap_mb=60)

Why: the last bucket shrinks.
100 MiB costs 21 ms more.
tiny on dgx1v, 8 GPUs
80 % interval of the step: 307 to 378 ms; not calibrated: data sheets.
PyTorch 2.8, NCCL 2.27.3, analytic network; buckets: default (1 MiB first, then 25 MiB)

  bucket_cap_mb  same buckets  buckets  step ms  change ms  blocking ms  comm. cost
        default                      5      320          0         30    ████████▋     default
              1  0.5 to 1.5         61      340        +20         50    ████████████
             60  60 to 64.5          2      280        -41          9.0  █▌            fastest, recommended
            100  90 and more         1      300        -20         20    █████▏
Caps give 4 bucket assignments, and 1 that this PyTorch does not let you set; the longest bar is 70 ms.

Lower bound: 270 ms if collectives took no time; they cost 50 ms of the default step.
Best partition found: 280 ms in 2 buckets (1.00, 2.00 MiB); no bucket cap can set it.

Why the interval runs from -4.0 % to +18 %:
  specification only
)");
}

TEST_CASE("tune page: the grade sets the digits, the default step the unit") {
  ReportContext context = sample::context();
  context.trust.confidence.grade = Grade::b;
  const std::string text = page(advised(), context);
  CHECK(first_line(text) ==
        "Set bucket_cap_mb=60: saves 41.0 ms of 320 ms (80 % interval 30.0 to 52.0 ms; not "
        "calibrated: data sheets).");
  CHECK(mentions(
      text,
      "Lower bound: 270 ms if collectives took no time; they cost 50.0 ms of the default step.\n"));
  TuneResult tune = advised();
  tune.default_setting.iteration = 900_us;
  CHECK(mentions(page(tune), "  step µs  change µs  blocking µs  "));
  CHECK(mentions(first_line(page(tune)), "saves 41000 µs of 900 µs"));
}

TEST_CASE("tune page: the setting may be the first bucket, or both") {
  TuneResult tune = advised();
  tune.recommended.first_bucket_mb = 12.5;
  CHECK(first_line(page(tune))
            .starts_with("Set bucket_cap_mb=60 and the first bucket to 12.5 MiB: saves"));
  tune.recommended.bucket_cap_mb.reset();
  CHECK(first_line(page(tune)).starts_with("Set the first bucket to 12.5 MiB: saves"));
}

TEST_CASE("tune page: round caps that are as good, and the next ones that are worse") {
  TuneResult tune = advised();
  tune.recommended.cap_range_mb = {8.5, 80.5678};
  CHECK(mentions(page(tune), "\nCaps from 10 to 64 MiB do as well, within the 3.0 ms that can be"));
  CHECK(mentions(page(tune), "100 MiB costs 21 ms more."));
  tune.recommended.cap_range_mb = {1.5, kNoLimitMb};
  CHECK(mentions(page(tune), "\nCaps from 2 to 200 MiB do as well, within"));
  CHECK(mentions(page(tune), "1 MiB costs 61 ms more."));
  tune.recommended.cap_range_mb = {60, 60};
  CHECK_FALSE(mentions(page(tune), "do as well"));
  // The caps that people type for a small model, and for a larger one, which exclude 0.1 and 0.25.
  tune.recommended.cap_range_mb = {0.2, 1.5};
  CHECK(mentions(page(tune), "\nCaps from 0.25 to 1 MiB do as well, within"));
  tune.typed_caps = std::span(kTypedCaps).subspan(2);
  CHECK(mentions(page(tune), "\nCaps from 0.5 to 1 MiB do as well, within"));
}

TEST_CASE("tune page: no bucket assignment is faster than the default") {
  TuneResult tune = kept();
  tune.best = tune.default_setting;
  tune.recommended.reason.clear();
  CHECK(first_line(page(tune)) ==
        "Keep the default bucket_cap_mb: no other bucket assignment is faster (98 ms a step).");
  tune.recommended.reason = "there is one\nbucket";
  CHECK(first_line(page(tune)) ==
        "Keep the default bucket_cap_mb: there is one bucket (98 ms a step).");
  tune.best.iteration = 99_ms;  // all given caps may be slower
  CHECK(first_line(page(tune)) ==
        "Keep the default bucket_cap_mb: there is one bucket (98 ms a step).");
  CHECK_FALSE(mentions(page(tune), "Why:"));  // already in line 1
}

TEST_CASE(
    "tune page: a gain too small to measure is called that, one that is just measurable is not") {
  TuneResult tune = kept();
  tune.recommended.measurable = 8_ms + 1_ps;
  CHECK(first_line(page(tune)) ==
        "Keep the default bucket_cap_mb: no bucket cap saves more than 8.0 ms of 98 ms, and less "
        "than "
        "8.0 ms cannot be measured.");
  CHECK_FALSE(mentions(page(tune), "Why:"));
  tune.recommended.measurable = 8_ms;
  CHECK(first_line(page(tune)) ==
        "Keep the default bucket_cap_mb: no common cap saves 8.0 ms of 98 ms, the least that can "
        "be measured. The fastest of all caps, 50 to 54.5 MiB, may save 8.0 ms.");
}

/// The advice depends on the cause of the replay error: compute keeps the default, communication
/// sets a cap.
TuneResult either_way() {
  TuneResult tune = kept();
  tune.recommended.depends_on_cause = true;
  tune.default_setting.if_communication = 98_ms;
  tune.best.if_communication = 88_ms;
  for (CurvePoint& point : tune.curve) point.if_communication = point.iteration;
  tune.curve.back().if_communication = 88_ms;
  tune.by_cause = {
      {.cause = Cause::compute, .bucket_cap_mb = {}, .first_bucket_mb = {}, .gain = {}},
      {.cause = Cause::communication,
       .set = true,
       .bucket_cap_mb = 50,
       .first_bucket_mb = {},
       .gain = {10_ms, 5_ms, 12_ms}}};
  return tune;
}

TEST_CASE("tune page: a cap that gains for only one cause of the replay error has two lines") {
  const std::string text = page(either_way(), replayed(98_ms, 88_ms));
  CHECK(first_line(text) ==
        "Keep the default bucket_cap_mb until you know whether the replay of the current step errs "
        "in compute or in communication: a cap gains in only one of the two cases (98 ms a step).");
  CHECK(mentions(text,
                 "\nThe replay differs from the current step by 10 ms. If the difference is in:\n"
                 "  compute: keep the default bucket_cap_mb\n"
                 "  communication: bucket_cap_mb=50 saves 10 ms or more\n"));
  CHECK(mentions(text, "if communication"));
  // Two measurements of one job may differ by a hundredth.
  CHECK_FALSE(mentions(page(either_way(), replayed(98_ms, 97.1_ms)), "If the difference"));
}

TEST_CASE("tune page: steps for both causes are shown if they differ measurably") {
  TuneResult tune = either_way();
  tune.curve.back().if_communication = tune.curve.back().iteration + 999_us;
  CHECK_FALSE(mentions(page(tune), "if communication"));
  tune.curve.back().if_communication = tune.curve.back().iteration - 1000_us;
  CHECK(mentions(page(tune), "if communication"));
}

TEST_CASE("tune page: the best setting has no cap") {
  TuneResult tune = kept();
  tune.best.bucket_cap_mb.reset();
  tune.best.first_bucket_mb = 12.5;
  CHECK(first_line(page(tune)) ==
        "Keep the default bucket_cap_mb: no common cap saves 1.0 ms of 98 ms, the least that can "
        "be measured. The fastest of all caps, the default cap after a first bucket of 12.5 MiB, "
        "may save 8.0 ms.");
}

TEST_CASE("tune page: a recommendation that holds for every cause of the replay error") {
  CHECK(first_line(page(advised(), replayed(400_ms, 380_ms)))
            .ends_with("data sheets)."));  // a twentieth
  CHECK(
      first_line(page(advised(), replayed(400_ms, 378_ms)))
          .ends_with("data sheets). The replay differs from the current step by 22 ms (5.5 %); "
                     "the gain is the mean for both possible causes, compute and communication."));
}

TEST_CASE("tune page: the reason why no cap can be recommended") {
  TuneReport report = sample::tuned(advised());
  report.no_cap_because = "gradients are sparse";
  CHECK(tune_text(report, kWide)
            .starts_with(
                "No cap is recommended.\nWhy: gradients are sparse.\ntiny on dgx1v, 8 GPUs\n"));
}

TEST_CASE("tune page: all given caps are listed below the default") {
  TuneResult tune = advised();
  tune.only_caps_asked = true;
  tune.curve = {point(62, {60, 64.5}, 279_ms, 9_ms, 2)};
  CHECK(row(tune, "default") ==
        "default                      5      320          0         30    "
        "████████████  default");
  CHECK(row(tune, "62").starts_with("62  60 to 64.5          2      280        -41 "));
  CHECK(mentions(page(tune), "\n1 cap asked for; the longest bar is 50 ms.\n"));
  tune.curve.push_back(point(70, {70, 80}, 290_ms, 11_ms, 2));
  CHECK(mentions(page(tune), "\n2 caps asked for; "));
}

TEST_CASE("tune page: ranges that begin at zero, hold one cap, or hold no short number") {
  TuneResult tune = advised();
  tune.curve[0].cap_range_mb = {0, 1.5};
  CHECK(row(tune, "1").starts_with("1  up to 1.5 "));
  tune.curve[0].cap_range_mb = {1, 1};
  CHECK(row(tune, "1").starts_with("1  1  "));
  tune.curve[0].bucket_cap_mb = 26.28764;
  tune.curve[0].cap_range_mb = {26.28123, 26.28764};
  // With two decimals, 26.29 and 26.28, both ends would be outside the range.
  CHECK(row(tune, "26.287").starts_with("26.287  26.282 to 26.287  "));
}

TEST_CASE("tune page: no bars if every step reaches the bound, and no table for an empty curve") {
  TuneResult tune = advised();
  tune.lower_bound = 320_ms;
  for (CurvePoint& one : tune.curve) one.iteration = 320_ms;
  tune.default_setting.iteration = tune.best.iteration = 320_ms;
  CHECK_FALSE(mentions(page(tune), "▏"));
  CHECK_FALSE(mentions(page(tune), "█"));
  tune.curve.clear();
  CHECK_FALSE(mentions(page(tune), "bucket_cap_mb  "));
  CHECK(mentions(page(tune), "\nCaps give 0 bucket assignments.\n"));
}

TEST_CASE("tune page: a curve with one bucket assignment") {
  TuneResult tune = advised();
  tune.curve = {tune.default_setting};
  CHECK(mentions(page(tune), "\nCaps give 1 bucket assignment"));
}

TEST_CASE("tune page: steps that differ measurably get one more digit, gains do not") {
  TuneResult tune = advised();
  tune.default_setting.iteration = tune.curve[1].iteration = 282_ms;  // 3 ms above the best
  CHECK(row(tune, "60").find("      279       -3.0 ") != std::string::npos);
  tune.recommended.measurable = 3_ms + 1_ps;
  tune.default_setting.iteration = tune.curve[1].iteration = 281.5_ms;
  CHECK(row(tune, "60").find("      280       -2.5 ") != std::string::npos);
}

TEST_CASE("tune page: the best partition, and what can set it") {
  TuneResult tune = advised();
  tune.best_partition->reachable = true;
  CHECK(mentions(page(tune), "(1.00, 2.00 MiB); bucket_cap_mb_list can set it.\n"));
  tune.best_partition->is_best_cap = true;
  CHECK(mentions(page(tune), "(1.00, 2.00 MiB); the best cap gives it.\n"));
  tune.best_partition->buckets.assign(8, sample::step().buckets[0].bucket);
  CHECK(
      mentions(page(tune), " in 8 buckets (1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00 MiB);"));
  tune.best_partition->buckets.assign(9, sample::step().buckets[0].bucket);
  CHECK(mentions(page(tune),
                 " in 9 buckets (1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, … MiB);"));
  tune.best_partition->buckets.assign(1, sample::step().buckets[0].bucket);
  CHECK(mentions(page(tune), " in 1 bucket (1.00 MiB);"));
}

TEST_CASE("tune page: no best partition, with or without a reason") {
  TuneResult tune = advised();
  tune.best_partition.reset();
  tune.best_partition_absent_because = "the workload has no timings";
  CHECK(mentions(page(tune),
                 " default step.\nBest partition: none, the workload has no timings.\n\n"));
  tune.best_partition_absent_because.clear();
  CHECK(mentions(page(tune), " default step.\n\n"));
}

TEST_CASE(
    "tune page: with an unknown PyTorch version it names the versions of the verdict, or the "
    "advice for each") {
  TuneResult tune = advised();
  const VersionRange older{{1, 8}, {2, 4}, {2, 7, 8}, {2, 20, 5}};
  const VersionRange newer{{2, 5}, kNewestTorch, {2, 21, 5}, {2, 27, 5}};
  const auto advice = [](const VersionRange& versions, std::optional<double> cap, Duration gain) {
    return AdviceByVersion{.versions = versions,
                           .set = cap.has_value(),
                           .bucket_cap_mb = cap,
                           .gain = {gain, gain, gain}};
  };
  CHECK(page(tune).find("PyTorch version is unknown") == std::string::npos);
  tune.by_version = {advice(older, 60, 30_ms), advice(newer, 60, 41_ms)};
  CHECK(mentions(page(tune),
                 "The PyTorch version is unknown (--torch): this holds for PyTorch 1.8 and newer, "
                 "saving 30 ms "
                 "or more."));
  tune = kept();
  tune.by_version = {advice(older, std::nullopt, {}), advice(newer, std::nullopt, {})};
  CHECK(page(tune).find("PyTorch version is unknown") ==
        std::string::npos);  // no version needs a change
  tune.by_version.back() = advice(newer, 46, 2_ms);
  tune.by_version.front().versions.to = {1, 8};
  CHECK(mentions(page(tune),
                 "The PyTorch version is unknown. Pass --torch to get one answer; until then:\n  "
                 "PyTorch 1.8: keep the default bucket_cap_mb\n"
                 "  PyTorch 2.5 and newer: bucket_cap_mb=46 saves 2.0 ms or more\n"));
  tune.recommended.depends_on_version = true;
  CHECK(mentions(page(tune),
                 "Keep the default bucket_cap_mb until you know the PyTorch version (--torch): a "
                 "cap gains under some of the possible versions, not under all (98 ms a step)."));
  tune.by_version.front() = advice(older, std::nullopt, {});
  tune.by_version.front().set = true;
  tune.by_version.front().first_bucket_mb = 3;
  CHECK(mentions(page(tune), "  PyTorch 1.8 to 2.4: a first bucket of 3 MiB saves 0 ms or more\n"));
}

TEST_CASE("tune page: line 1 doubts a replay that the measured step contradicts") {
  CHECK(mentions(page(kept(), replayed(40_ms, 98_ms)),
                 "Keep the default bucket_cap_mb: the current step was measured at 40.0 ms but "
                 "replayed at 98 ms: another job was recorded, or the unit is wrong."));
}

TEST_CASE("tune page: a setting that beats every cap is named in a line") {
  TuneReport report = sample::tuned(advised());
  report.better_setting =
      AdviceRow{.settings = {"fp16_compress_hook"}, .gain = {50_ms, 40_ms, 60_ms}};
  CHECK(
      mentions(tune_text(report, {.width = 110}),
               "\nfp16_compress_hook saves more: 50 ms (`ddpsim advise` ranks every setting).\n"));
  report.better_setting->changes_numerics = true;
  CHECK(mentions(tune_text(report, {.width = 110}),
                 "fp16_compress_hook saves more: 50 ms, but changes numerics ("));
}
