// The whole text of `simulate`, worked out by hand from the sample step.
#include <doctest/doctest.h>

#include <algorithm>

#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

std::string page(const SimulationResult& result, const ReportContext& context = sample::context(),
                 const TerminalStyle& style = {}) {
  return result_text(sample::simulated(result, context), style);
}

/// The part of the text from `begin` to the next empty line.
std::string section(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find(begin);
  return at == std::string::npos ? "" : text.substr(at, text.find("\n\n", at) + 1 - at);
}

/// A step with only the sample's second bucket, at other times.
SimulationResult one_bucket(Duration start, Duration last_arrival, Duration end) {
  SimulationResult result = sample::result();
  result.step.buckets.erase(result.step.buckets.begin());
  BucketResult& bucket = result.step.buckets.front();
  bucket.start = sample::at(start);
  bucket.last_arrival = sample::at(last_arrival);
  bucket.end = sample::at(end);
  bucket.exposed_because.clear();
  return result;
}

std::string last_cell(const std::string& text) {
  const std::string line = text.substr(text.rfind('\n', text.size() - 2) + 1);
  return line.substr(line.rfind("  ") + 2);
}

}  // namespace

// The step of 100 ms: forward 30, backward 60 (30 to 90), exposed 3 (90.6 to 93.6), copies out
// 1.25, optimizer 5, stalls 0.75. The drawing has 100 - 17 - 2 = 81 cells for 100 ms. Backward ends
// at cell 0.9 * 81 = 72.9. The optimizer (94.85 to 99.85 ms) takes cells 76.8 to 80.9. Bucket 0
// waits from 42 ms (34.02) to 43 (34.83) and transfers to 60 (48.6). Bucket 1 waits from 90.6
// (73.4) to 92 (74.5) and transfers to 93.6 (75.8). Each bar has 30 cells for the step.
TEST_CASE("result page: one hidden and one exposed bucket") {
  CHECK(
      page(sample::result()) ==
      R"(tiny on dgx1v, 8 GPUs: about 100 ms a step (scaling efficiency 100 %), 3.4 % of it blocked by communication.
80 % interval of the step: 96.0 to 118 ms; not calibrated: data sheets.
PyTorch 2.8, NCCL 2.27.3, analytic network; buckets: default (1 MiB first, then 25 MiB)

  where the step goes             ms   share
  forward                       30.0    30 %  █████████
    of it buffer broadcast       0.4
  backward                      60.0    60 %  ██████████████████
    of it copies into buckets    1.5
    of it slowed by NCCL         0.5
  exposed communication          3.0   3.0 %  ▉
  finalize (copies out)          1.3   1.3 %  ▍
  optimizer                      5.0   5.0 %  █▌
  stall and gaps                 0.7  0.75 %  ▎
  step                         100.0   100 %
Communication runs for 20 ms, after 1.0 ms of waiting for the last rank.

Why the interval runs from -4.0 % to +18 %:
  specification only

  compute        │░░░░░░░ forward ░░░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ backward ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒    ▓▓▓▓│
  communication  │                                  ·00000000000000                        ··1     │
                  0                                                                          100 ms

Buckets in launch order, times in ms from the start of forward (launch: the host enqueues the
  all-reduce; start: it runs on the GPU):
  bucket   MiB    bytes  tensors  ready  launch  start  end  transfer  NCCL             exposed
       0  1.00  1048576        1     40      41     42   60      17    ring Simple x12  hidden
       1  2.00  2097152        2     90      85     91   94       1.6  as recorded      3.0 ms
Bucket 1 is exposed: its last gradient is the end of backward
)");
}

TEST_CASE("result page: parts that do not occur have no line") {
  SimulationResult result = sample::result();
  result.timeline = {};
  result.step = {};
  // A step of one GPU takes 950 us: forward 400, backward 500, optimizer 50.
  result.step.times = {
      .iteration = 950_us, .forward = 400_us, .backward = 500_us, .optimizer = 50_us};
  ReportContext context = sample::context(1);
  context.trust.confidence.grade = Grade::b;
  // At width 60 there are 41 cells. Forward ends at 17.3, backward at 38.8, the optimizer at 41.
  // Bars have 10 cells.
  CHECK(page(result, context, {.width = 60}) ==
        R"(tiny on dgx1v, 1 GPU: 950 µs a step, no communication.
80 % interval of the step: 912 to 1120 µs; not calibrated:
  data sheets.
PyTorch 2.8, NCCL 2.27.3, analytic network; buckets: default
  (1 MiB first, then 25 MiB)

  where the step goes       µs  share
  forward                400.0   42 %  ████▎
  backward               500.0   53 %  █████▎
  exposed communication    0.0    0 %
  finalize (copies out)    0.0    0 %
  optimizer               50.0  5.3 %  ▌
  step                   950.0  100 %

Why the interval runs from -4.0 % to +18 %:
  specification only

  compute        │░░░░ forward ░░░░▒▒▒▒▒▒ backward ▒▒▒▒▒▒▓▓│
  communication  │                                         │
                  0                                  950 µs
)");
}

TEST_CASE("result page: the first line says the training speed as far as it is known") {
  const auto speed = [&](const ReportContext& context) {
    const std::string text = page(sample::result(), context);
    const std::size_t from = text.find(" (") + 2;
    return text.substr(from, text.find(')') - from);
  };
  Workload workload = sample::workload();
  workload.batch_per_gpu = 32;  // 2560 samples/s on 8 GPUs
  CHECK(speed(sample::with(workload)) == "2600 samples/s, scaling efficiency 100 %");
  workload.precision = "fp32";
  // The 32 samples of a rank take 41 ms at a V100's 15.7 TFLOP/s.
  workload.sample = SampleWork{.tokens = 512, .flops = 0.041 * 15.7e12 / 32};
  CHECK(speed(sample::with(workload)) ==
        "2600 samples/s, 1300000 tokens/s, MFU 41 %, scaling efficiency 100 %");
  ReportContext alone = sample::with(workload, sample::context(1));
  alone.trust.confidence.grade = Grade::b;
  CHECK(speed(alone) == "320 samples/s, 164000 tokens/s, MFU 41 %");
}

TEST_CASE(
    "result page: unequal ranks are described below the verdict, with the digits of the grade") {
  SimulationResult result = sample::result();
  result.ranks = {{.rank = 0, .wait = 6_ms}, {.rank = 1, .times_last = 1, .caused = 6_ms}};
  ReportContext context = sample::context();
  const auto second_line = [&] {
    const std::string text = page(result, context, {.width = 200});
    const std::size_t at = text.find('\n') + 1;
    return text.substr(at, text.find(',', at) - at);
  };
  CHECK(second_line() == "On average a rank's collectives wait 3.0 ms a step for the last rank");
  context.trust.confidence.grade = Grade::b;
  CHECK(second_line() == "On average a rank's collectives wait 3.00 ms a step for the last rank");
}

TEST_CASE("result page: a step without length has no shares") {
  SimulationResult result;
  const std::string text = page(result);
  CHECK(text.find("0 µs a step, no communication.") != std::string::npos);
  CHECK(text.find("nan") == std::string::npos);
}

TEST_CASE(
    "result page: exposed communication without a known overlap; waits only if there are any") {
  SimulationResult result = sample::result();
  result.step.times.wait = Duration();
  CHECK(page(result).find("Communication runs for 20 ms.\n") != std::string::npos);
  result.step.times.overlap.reset();
  const std::string text = page(result);
  CHECK(
      text.starts_with("tiny on dgx1v, 8 GPUs: about 100 ms a step (scaling efficiency 100 %), 3.4 "
                       "% of it blocked by "
                       "communication.\n"));
  CHECK(text.find("Communication runs") == std::string::npos);
}

TEST_CASE(
    "result page: exposed time counts from the end of backward, or from the start if that is "
    "later") {
  // Backward ends at 90 ms.
  CHECK(last_cell(page(one_bucket(88_ms, 89_ms, 95_ms))) == "5.0 ms\n");
  CHECK(last_cell(page(one_bucket(91_ms, 92_ms, 95_ms))) == "4.0 ms\n");
  CHECK(last_cell(page(one_bucket(88_ms, 89_ms, 90_ms))) == "hidden\n");
  CHECK(last_cell(page(one_bucket(88_ms, 89_ms, 90_ms + 1_ps))) == "<0.001 ms\n");
}

TEST_CASE("result page: times that differ by a hundredth of the step look different") {
  SimulationResult result = one_bucket(50_ms, 50_ms, 52_ms);
  result.step.buckets.front().ready = sample::at(50.1_ms);
  result.step.buckets.front().launch = sample::at(50_ms);
  result.step.times.iteration = 10_ms;  // 0.1 ms needs three digits
  std::string text = page(result);
  CHECK(text.find("   50.1    50.0   50.0  52.0       2.0  ") != std::string::npos);
  result.step.times.iteration = 11_ms;
  text = page(result);
  CHECK(text.find("     50      50     50   52       2.0  ") != std::string::npos);
}

TEST_CASE("result page: a narrow terminal drops the least important columns first") {
  const auto head = [](int width) {
    const std::string text =
        section(page(sample::result(), sample::context(), {.width = width}), "  bucket ");
    return text.substr(0, text.find('\n'));
  };
  CHECK(head(95) ==
        "  bucket   MiB    bytes  tensors  ready  launch  start  end  transfer  NCCL             "
        "exposed");
  CHECK(head(94) ==
        "  bucket   MiB    bytes  ready  launch  start  end  transfer  NCCL             exposed");
  CHECK(head(85) ==
        "  bucket   MiB  ready  launch  start  end  transfer  NCCL             exposed");
  CHECK(head(76) == "  bucket   MiB  ready  start  end  transfer  NCCL             exposed");
  CHECK(head(68) == "  bucket   MiB  ready  start  end  transfer  exposed");
  CHECK(head(51) == "  bucket   MiB  start  end  transfer  exposed");
  CHECK(head(44) == "  bucket   MiB  start  end  exposed");
}

TEST_CASE("result page: gloo has its own column and only one algorithm") {
  const std::string text = section(page(sample::result(), sample::with(GlooModel{})), "  bucket ");
  CHECK(text.find("  transfer  gloo  exposed\n") != std::string::npos);
  CHECK(text.find("  ring  hidden\n") != std::string::npos);
  CHECK(text.find("Simple") == std::string::npos);
}

TEST_CASE("result page: 24 buckets are all shown, of 25 the first twelve and the last eleven") {
  const auto table_of = [](std::size_t buckets) {
    SimulationResult result = sample::result();
    result.step.buckets.assign(buckets, sample::step().buckets[0]);
    return section(page(result), "  bucket ");
  };
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(lines(table_of(24)) == 1 + 24);
  CHECK(table_of(24).find(" more") == std::string::npos);
  const std::string text = table_of(25);
  CHECK(lines(text) == 1 + 12 + 1 + 11);
  CHECK(text.find("\n       …  ") != std::string::npos);
  CHECK(text.find("  2 more\n") != std::string::npos);
  for (const char* shown : {"\n      11 ", "\n      14 ", "\n      24 "})
    CHECK(text.find(shown) != std::string::npos);
  for (const char* hidden : {"\n      12 ", "\n      13 "})
    CHECK(text.find(hidden) == std::string::npos);
}

TEST_CASE("result page: equal reasons of consecutive buckets share a line, at most six lines") {
  SimulationResult result = sample::result();
  result.step.buckets.assign(12, sample::step().buckets[1]);
  const char* reasons[] = {"", "a", "a", "", "a", "b", "c", "d", "e", "f", "f", "f"};
  for (std::size_t i = 0; i < 12; ++i) result.step.buckets[i].exposed_because = reasons[i];
  const std::string text = page(result);
  CHECK(text.substr(text.find("Buckets 1")) ==
        "Buckets 1 to 2 are exposed: a\nBucket 4 is exposed: a\nBucket 5 is exposed: b\n"
        "Bucket 6 is exposed: c\nBucket 7 is exposed: d\nBucket 8 is exposed: e\n");
}

TEST_CASE("result page: an assumed order of parameters is mentioned, a known one is not") {
  Workload workload = sample::workload();
  const auto said = [&] {
    return page(sample::result(), sample::with(workload))
               .find(
                   "\nParameter order is assumed: bucket contents may differ from the real "
                   "run.\n") != std::string::npos;
  };
  CHECK_FALSE(said());
  workload.parameter_order = ParameterOrder::assumed;
  CHECK(said());
}
