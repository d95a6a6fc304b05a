#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "ddpsim/formats/display_width.hpp"
#include "first_line.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Width of the longest line.
std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    longest = std::max(longest, display_width(line));
  }
  return longest;
}

std::string text_of(const SimulationResult& result,
                    const ReportContext& context = sample::context(),
                    const TerminalStyle& style = {}) {
  return result_text(sample::simulated(result, context), style);
}

}  // namespace

TEST_CASE("result text: the verdict comes first") {
  CHECK(first_line(text_of(sample::result())) ==
        "tiny on dgx1v, 8 GPUs: about 100 ms a step (scaling efficiency 100 %), 3.4 % of it "
        "blocked by "
        "communication.");
}

TEST_CASE("result text: one GPU has nothing to communicate") {
  SimulationResult result = sample::result();
  result.step.times.exposed_communication = Duration();
  result.step.times.overlap.reset();
  CHECK(first_line(text_of(result, sample::context(1))) ==
        "tiny on dgx1v, 1 GPU: about 100 ms a step, no communication.");
}

TEST_CASE("result text: without exposed communication the line says that all of it is hidden") {
  SimulationResult result = sample::result();
  result.step.times.exposed_communication = Duration();
  result.step.times.buffer_broadcast = Duration();
  result.step.times.overlap = 1;
  CHECK(contains(first_line(text_of(result)),
                 " a step (scaling efficiency 100 %), all communication hidden."));
}

TEST_CASE("result text: grade C prints two digits, a better grade three") {
  SimulationResult result = sample::result();
  result.step.times.iteration = 98.24_ms;
  ReportContext context = sample::context();
  CHECK(contains(first_line(text_of(result, context)), ": about 98 ms a step ("));
  context.trust.confidence.grade = Grade::a;
  CHECK(contains(first_line(text_of(result, context)), ": 98.2 ms a step ("));
}

TEST_CASE("result text: short steps are in microseconds") {
  SimulationResult result = sample::result();
  result.step.times.iteration = 840_us;
  CHECK(contains(first_line(text_of(result)), ": about 840 µs a step ("));
}

TEST_CASE("result text: the verdict names the largest loss") {
  SimulationResult result = sample::result();
  result.step.times.loss = small::lost({{LossCause::copies, 3_ms}, {LossCause::slowest_gpu, 2_ms}});
  CHECK(first_line(text_of(result)) ==
        "tiny on dgx1v, 8 GPUs: about 100 ms a step (scaling efficiency 95 %), 3.4 % of it blocked "
        "by "
        "communication; largest loss: DDP's copies, 3.0 ms.");
}

// The sample step takes 100 ms, and its iterations 98 and 106 ms: 102 on average.
TEST_CASE("result text: with several iterations the first line has their mean, not the last one") {
  SimulationResult result = sample::result();
  result.statistics = IterationStatistics{.first = 3, .count = 2, .mean = result.step.times};
  result.statistics->mean.iteration = 102_ms;
  ReportContext context = sample::context();
  context.trust.confidence.grade = Grade::a;
  CHECK(contains(first_line(text_of(result, context)),
                 ": 102 ms a step on average over iterations 3 to 4 ("));
  result.statistics->count = 1;
  CHECK(contains(first_line(text_of(result, context)), ": 102 ms a step in iteration 3 ("));
}

TEST_CASE("result text: the line names who delays collectives if most blocking time is waiting") {
  SimulationResult result = sample::result();
  StepTimes& times = result.step.times;
  const auto waits_last = [&] {
    return contains(first_line(text_of(result)),
                    "blocked by communication, most of that waiting for slower GPUs; largest");
  };
  times.loss = small::lost({{LossCause::jitter, times.blocking_communication().scaled(0.6)}});
  CHECK(waits_last());
  times.loss = small::lost({{LossCause::jitter, times.blocking_communication().scaled(0.4)}});
  CHECK_FALSE(waits_last());
  times.loss = small::lost({{LossCause::straggler, times.blocking_communication()}});
  const ReportContext slow =
      sample::with(SimulationOptions{.variation = {.stragglers = {{5, 1.5}}}});
  CHECK(contains(first_line(text_of(result, slow)), "waiting for rank 5, the slowest; largest"));
}

// The waits take 30 ms, and all-reduces that wait slow compute by another 15: 45 of 100.
TEST_CASE("result text: unequal ranks cost more than the waits for them") {
  SimulateReport report = sample::simulated();
  StepTimes& times = report.result.step.times;
  times.loss = small::lost({{LossCause::straggler, 30_ms}, {LossCause::interference, 20_ms}});
  const auto first = [&] { return first_line(result_text(report, {})); };
  CHECK(contains(first(), "largest loss: waiting for stragglers, 30 ms"));
  report.iteration_if_alike = times.iteration - 45_ms;
  CHECK(contains(first(), "largest loss: ranks that differ, 45 ms"));
  report.iteration_if_alike = times.iteration - 29_ms;
  CHECK(contains(first(), "largest loss: waiting for stragglers, 30 ms"));
}

TEST_CASE(
    "result text: the rest of a measured step is called unexplained, not multi-GPU overhead") {
  SimulateReport report = sample::simulated();
  StepTimes& times = report.result.step.times;
  times.unexplained = 7_ms;
  times.loss = small::lost({{LossCause::unexplained, 7_ms}});
  report.step.budget = budget_of(times);
  CHECK(contains(result_text(report, {}), "7.0 ms is multi-GPU overhead."));
  report.context.trust.replay = Replay{times.iteration, times.iteration};
  report.context.trust.correction.emplace();
  const std::string measured = result_text(report, {});
  CHECK(contains(measured, "7.0 ms is unexplained."));
  CHECK_FALSE(contains(measured, "multi-GPU overhead"));
}

TEST_CASE("result text: the replay of the current step comes first after the verdict") {
  ReportContext context = sample::context();
  context.trust.replay = Replay{104_ms, 101_ms};
  CHECK(contains(text_of(sample::result(), context),
                 "Current step: measured 104 ms, replayed 101 ms (2.9 % too fast).\n"));
  context.trust.replay = Replay{100_ms, 110_ms};
  CHECK(contains(text_of(sample::result(), context), "(10 % too slow).\n"));
}

TEST_CASE("result text: the interval is one line, and its reasons come with all details") {
  ReportContext context = sample::context();
  context.trust.confidence.because = {"the cluster is not calibrated", "and so on"};
  const std::string whole = text_of(sample::result(), context, {.width = 1000});
  CHECK(
      contains(whole, "80 % interval of the step: 96.0 to 118 ms; not calibrated: data sheets.\n"));
  CHECK(contains(whole, "\n  and so on\n"));
  const std::string first = text_of(sample::result(), context, {.width = 1000, .most_lines = 12});
  CHECK_FALSE(contains(first, "and so on"));
}

TEST_CASE("result text: each bucket is hidden or has the reason why not") {
  const std::string text = text_of(sample::result());
  CHECK(contains(text, "ring Simple x12"));
  CHECK(contains(text, "hidden\n"));
  CHECK(contains(text, "3.0 ms\n"));
  CHECK(contains(text, "Bucket 1 is exposed: its last gradient is the end of backward\n"));
}

TEST_CASE("result text: the drawing shows compute above communication") {
  const std::string text = text_of(sample::result(), sample::context(), {.width = 59});
  CHECK(contains(text,
                 "  compute        │░ forward ░░▒▒▒▒▒▒▒ backward ▒▒▒▒▒▒▒  ▓▓│\n"
                 "  communication  │                 0000000            ·1  │\n"));
}

TEST_CASE("result text: warnings follow the verdict, the hint for the next command is last") {
  SimulateReport report = sample::simulated();
  report.context.trust.warnings.add("64 nodes lies beyond the calibrated range");
  report.next_command = "ddpsim tune tiny dgx1v";
  const std::string text = result_text(report, {});
  CHECK(contains(text, ".\nwarning: 64 nodes lies beyond the calibrated range\nPyTorch"));
  CHECK(text.ends_with("\n\nNext: ddpsim tune tiny dgx1v\n"));
}

TEST_CASE("result text: lines after the verdict are wrapped at the width") {
  ReportContext context = sample::context();
  context.trust.warnings.add(std::string(30, 'a') + " " + std::string(30, 'b') + " " +
                             std::string(30, 'c'));
  for (const int width : {60, 80, 100, 160}) {
    const std::string text = text_of(sample::result(), context, {.width = width});
    CAPTURE(width);
    CHECK(longest_line(text.substr(text.find('\n') + 1)) <= static_cast<std::size_t>(width));
    CHECK_FALSE(contains(text, "\n  %"));  // "12 %" is not split
  }
}

TEST_CASE("result text: of many buckets the first and the last are shown") {
  SimulationResult result = sample::result();
  result.step.buckets.assign(100, sample::step().buckets[0]);
  const std::string text = text_of(result);
  CHECK(contains(text, "77 more\n"));
  CHECK(contains(text, "\n       0 "));
  CHECK(contains(text, "\n      99 "));
  CHECK_FALSE(contains(text, "\n      50 "));
}

TEST_CASE("result text: escape sequences in a name never reach the terminal") {
  const ReportContext context = sample::with(sample::workload("evil\x1b[2J"));
  CHECK_FALSE(contains(text_of(sample::result(), context), "\x1b"));
}

TEST_CASE("result text: colour only when asked for") {
  CHECK_FALSE(contains(text_of(sample::result()), "\x1b"));
  const std::string text = text_of(sample::result(), sample::context(), {.colour = true});
  CHECK(text.rfind("\x1b[1mtiny on", 0) == 0);
}

TEST_CASE("tune text: the default is kept if no gain can be measured") {
  CHECK(first_line(tune_text(sample::tuned(sample::keep()), {})) ==
        "Keep the default bucket_cap_mb: no bucket cap saves more than 0.20 ms of 98 ms, and less "
        "than "
        "1.0 ms cannot be measured.");
}

TEST_CASE("tune text: the default may be the best there is") {
  TuneResult tune = sample::keep();
  tune.best = tune.default_setting;
  CHECK(first_line(tune_text(sample::tuned(tune), {})) ==
        "Keep the default bucket_cap_mb: no other bucket assignment is faster (98 ms a step).");
}

TEST_CASE("tune text: a gain that only unusual caps have is not advised") {
  TuneResult tune = sample::keep();
  tune.best.iteration = 90_ms;
  CHECK(first_line(tune_text(sample::tuned(tune), {})) ==
        "Keep the default bucket_cap_mb: no common cap saves 1.0 ms of 98 ms, the least that can "
        "be measured. The fastest of all caps, 50 to 54.5 MiB, may save 8.0 ms.");
}

TEST_CASE("tune text: a measurement comes with its command and the meaning of each outcome") {
  TuneResult tune = sample::keep();
  tune.best.iteration = 90_ms;
  tune.recommended.measure_first =
      MeasureFirst{.doubt = Doubt::neighbour,
                   .because = "on 3 nodes it may cost 2.0 ms",
                   .bucket_cap_mb = 50,
                   .first_bucket_mb = {},
                   .gain = {8_ms, Duration::milliseconds(-3), 12_ms},
                   .sizes = {Bytes(32 << 20), Bytes(64 << 20)},
                   .command = "all_reduce_perf -b 16M -e 128M -f 2 -g 8",
                   .then = "ddpsim calibrate LOG --cluster CLUSTER -o CALIBRATED",
                   .takes = 16'000_ms,
                   .deciding = Bytes(64 << 20),
                   .predicted = 5_ms,
                   .set_up_to = 7_ms};
  const std::string text = tune_text(sample::tuned(tune), {});
  CHECK(first_line(text) ==
        "Keep the default bucket_cap_mb until you have measured: bucket_cap_mb=50 may save 8.0 ms "
        "of 98 ms (80 % "
        "interval -3.0 to 12 ms), but on 3 nodes it may cost 2.0 ms.");
  CHECK(contains(text, "\n    all_reduce_perf -b 16M -e 128M -f 2 -g 8\n\n"));
  CHECK(contains(text,
                 "It takes about 20 s. If the time it prints for 64 MiB is at most 7.0 ms (5.0 ms "
                 "predicted), set"));
  tune.recommended.measure_first->set_up_to.reset();
  CHECK_FALSE(contains(tune_text(sample::tuned(tune), {}), "If the time"));
}

TEST_CASE("tune text: a worthwhile cap comes with its interval and the line to paste") {
  const std::string text = tune_text(sample::tuned(sample::set()), {});
  CHECK(first_line(text) ==
        "Set bucket_cap_mb=60: saves 41 ms of 320 ms (80 % interval 30 to 52 ms; not calibrated: "
        "data sheets).");
  CHECK(contains(text, "\n    DistributedDataParallel(model, bucket_cap_mb=60)\n"));
  // The range holds only one of the caps that people type: 64.
  CHECK_FALSE(contains(text, "do as well"));
  CHECK(contains(text, "fastest, recommended\n"));
  CHECK(contains(text, "Best partition found: 280 ms in 2 buckets (1.00, 2.00 MiB)"));
}

TEST_CASE("tune text: the first line says if a recommendation is a guess") {
  ReportContext context = sample::context();
  context.trust.confidence.beyond = "64 nodes lie beyond the calibrated range (1..2 nodes)";
  CHECK(first_line(tune_text(sample::tuned(sample::set(), context), {}))
            .ends_with("data sheets). A guess: 64 nodes lie beyond the calibrated range (1..2 "
                       "nodes)."));
}

TEST_CASE(
    "result text: overlapping steps are mentioned, and hidden time counts from the start of "
    "forward") {
  SimulationResult result = sample::result();
  CHECK(text_of(result).find("Steps overlap") == std::string::npos);
  StepTimes& times = result.step.times;
  times.forward_ahead = 10_ms;
  times.forward -= 10_ms;
  times.iteration -= 10_ms;
  const std::string text = text_of(result);
  CHECK(text.find("Steps overlap: each forward begins 10 ms before the previous step has ended.") !=
        std::string::npos);
  // The first bucket ends at 60 of 90 ms.
  CHECK(text.find("hidden") != std::string::npos);
  // The only minus sign is the interval's: no part is negative.
  CHECK(text.find("-") == text.find("-4.0 %"));
}

TEST_CASE("tune text: the first line says how much the replay differs from the current step") {
  ReportContext context = sample::context();
  context.trust.replay = Replay{330_ms, 320_ms};  // 3 %: reproduced
  CHECK(
      first_line(tune_text(sample::tuned(sample::set(), context), {})).ends_with("data sheets)."));
  context.trust.replay = Replay{350_ms, 320_ms};  // off by 30 ms
  CHECK(first_line(tune_text(sample::tuned(sample::set(), context), {}))
            .ends_with("The replay differs from the current step by 30 ms (8.6 %); the gain is the "
                       "mean for both possible causes, compute and communication."));
}

TEST_CASE("tune text: steps that differ measurably are printed differently") {
  TuneResult tune = sample::keep();
  tune.default_setting.iteration = 106_ms;
  tune.curve = {sample::point(1, 107_ms, 60), tune.default_setting, sample::point(25, 105_ms, 4)};
  tune.best = tune.curve[2];
  const std::string text = tune_text(sample::tuned(tune), {});
  for (const char* step : {" 107 ", " 106 ", " 105 "}) CHECK(contains(text, step));
  CHECK(contains(first_line(text), "of 110 ms"));  // keeps two digits
  tune.recommended.measurable = 5_ms;
  CHECK_FALSE(contains(tune_text(sample::tuned(tune), {}), " 107 "));
}

TEST_CASE("tune text: a long curve has at most fifteen rows, which include the marked points") {
  TuneResult tune = sample::keep();
  tune.curve.clear();
  for (int cap = 1; cap <= 300; ++cap) tune.curve.push_back(sample::point(cap, 99_ms, 3));
  tune.curve.push_back(tune.default_setting);
  tune.best = tune.curve[136];
  tune.best.iteration = tune.curve[136].iteration = 90_ms;
  tune.curve.back().reachable = true;
  CurvePoint forbidden = sample::point(77.25, 90_ms, 3);
  forbidden.reachable = false;
  tune.curve.push_back(forbidden);
  const std::string text = tune_text(sample::tuned(tune), {});
  CHECK(contains(text, "default\n"));
  CHECK(contains(text, "fastest\n"));
  CHECK(contains(text, "137"));
  CHECK_FALSE(contains(text, "77.25"));
  CHECK(contains(text,
                 "Caps give 301 bucket assignments, and 1 that this PyTorch does not let you "
                 "set; the longest"));
  CHECK(std::count(text.begin(), text.end(), '\n') < 32);
  // The fastest cap is of no use if its gain cannot be measured.
  tune.best.iteration = tune.curve[136].iteration = 97.5_ms;
  CHECK_FALSE(contains(tune_text(sample::tuned(tune), {}), "137"));
  tune.unsimulated = 1699;
  const std::string sampled = tune_text(sample::tuned(tune), {.width = 400});
  CHECK(contains(
      sampled,
      "Caps give 2000 bucket assignments, and 1 that this PyTorch does not let you set; 302 "
      "were simulated: those estimated fastest, and a sample of the others; the longest"));
}

TEST_CASE("tune text: of the caps with the same buckets, the roundest is shown") {
  TuneResult tune = sample::keep();
  tune.curve[2].bucket_cap_mb = 25.04;
  tune.curve[2].first_bucket_mb = 25.04;
  tune.curve[2].cap_range_mb = {24.86, 25.04};
  const std::string text = tune_text(sample::tuned(tune), {});
  CHECK(contains(text, " 25  24.86 to 25.04 "));
}

TEST_CASE("tune text: only the default is called default; another first bucket is named") {
  TuneResult tune = sample::keep();
  CurvePoint apart = sample::point(std::nullopt, 97_ms, 5);
  apart.first_bucket_mb = 12.5;
  tune.curve.insert(tune.curve.begin(), apart);
  CHECK_FALSE(contains(tune_text(sample::tuned(tune), {}), "12.5"));
  tune.best = apart;
  CHECK(contains(tune_text(sample::tuned(tune), {}), "first bucket 12.5 MiB, fastest"));
}

TEST_CASE("tune text: a recommended cap marks the row of its buckets") {
  TuneResult tune = sample::set();
  tune.recommended.bucket_cap_mb = 62;
  const std::string text = tune_text(sample::tuned(tune), {});
  CHECK(contains(text, " 62  60 to 64.5 "));
  CHECK(contains(text, "fastest, recommended\n"));
}

TEST_CASE("buckets text: what is in each bucket and why it closed") {
  const StepResult step = sample::step();
  const std::string text = buckets_text({step.buckets[0].bucket, step.buckets[1].bucket},
                                        sample::workload(), {.width = 100});
  CHECK(text ==
        "2 buckets in launch order: 3 tensors of gradients, 3.00 MiB (3145728 bytes).\n"
        "\n"
        "  bucket  tensors   MiB    bytes  limit MiB  closed by        first .. last parameter\n"
        "       0        1  1.00  1048576       0.50  limit reached    fc.weight\n"
        "       1        2  2.00  2097152      25.00  no tensors left  conv.bias .. conv.weight\n");
}

TEST_CASE("buckets text: without parameters there are no buckets") {
  CHECK(buckets_text({}, sample::workload(), {}) ==
        "No buckets: no parameter takes part in DDP.\n");
}

TEST_CASE("CSV: units are in the heads, each bucket has a row, and fields are quoted if needed") {
  SimulationResult result = sample::result();
  result.step.buckets[0].exposed_because = "a, \"b\"";
  std::istringstream lines(result_csv(result));
  std::string line;
  std::getline(lines, line);
  CHECK(line ==
        "bucket,bytes,tensors,ready_us,launch_us,start_us,last_arrival_us,last_rank,end_us,"
        "algorithm,protocol,channels,closed_by,exposed_because");
  std::getline(lines, line);
  CHECK(line ==
        "0,1048576,1,40000,41000,42000,43000,3,60000,ring,Simple,12,limit,\"a, \"\"b\"\"\"");
  std::getline(lines, line);
  CHECK(line ==
        "1,2097152,2,90000,85000,90600,92000,5,93600,,,,end,"
        "its last gradient is the end of backward");
}

TEST_CASE("CSV: curve and bucket assignment") {
  CHECK(tune_csv(sample::tuned(sample::set())) ==
        "bucket_cap_mb,first_bucket_mb,cap_low_mb,cap_high_mb,iteration_us,"
        "exposed_communication_us,blocking_communication_us,buckets,reachable,samples_per_second\n"
        ",1,0,0,320000,3000,3400,5,true,\n"
        "60,60,60,64.5,279000,3000,3400,2,true,\n");
  CHECK(buckets_csv({sample::step().buckets[1].bucket}) ==
        "bucket,bytes,tensors,limit_bytes,closed_by,dtype,parameter_indices\n"
        "0,2097152,2,26214400,end,float32,1 0\n");
}

TEST_CASE("result text: line 1 doubts a replay that the measured step contradicts") {
  ReportContext context = sample::context();
  context.trust.replay = Replay{60_ms, 100_ms};
  CHECK(first_line(text_of(sample::result(), context)).find("but the current step") ==
        std::string::npos);
  context.trust.replay = Replay{40_ms, 100_ms};
  CHECK(first_line(text_of(sample::result(), context)) ==
        "tiny on dgx1v, 8 GPUs: about 100 ms a step, but the current step was measured at 40.0 ms: "
        "another job was recorded, or the unit is wrong.");
}
