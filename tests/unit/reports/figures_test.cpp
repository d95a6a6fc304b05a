// The figures of tune, allreduce and compare: marks, names and notes.
#include <doctest/doctest.h>

#include <pugixml.hpp>
#include <string>

#include "ddpsim/reports/reports.hpp"
#include "mentions.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// All texts of a plot, one after another.
std::string drawn_words(const std::string& svg) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_string(svg.c_str());
  CHECK_MESSAGE(parsed, parsed.description());
  std::string words;
  for (const pugi::xpath_node& one : document.select_nodes("//text"))
    words += std::string(one.node().text().get()) + '\n';
  return words;
}

AllReduceTable drawn_table(std::size_t rows) {
  AllReduceTable table;
  table.ranks = 8;
  table.nodes = 2;
  table.gpus_per_node = 4;
  table.gpu = "V100";
  for (std::size_t i = 0; i < rows; ++i) {
    const Bytes size(1024 * static_cast<std::int64_t>(i + 1));
    const Duration time = 20_us + Duration::picoseconds(100 * size.count());
    const CollectiveChoice choice{i < rows / 2 ? Algorithm::tree : Algorithm::ring,
                                  Protocol::simple, 12, time};
    table.rows.push_back({size, choice, time, time.scaled(0.8), time.scaled(1.3)});
  }
  return table;
}

ComparedJob drawn_job(Duration step) {
  ComparedJob job;
  job.times.iteration = step;
  job.confidence = {Grade::c, -10, 20, {"specification only"}};
  return job;
}

}  // namespace

TEST_CASE(
    "figure of tune: the recommended cap, the caps that are as good, the current step, notes") {
  const std::string words = drawn_words(tune_svg(sample::tuned(sample::set())));
  INFO(words);
  for (const char* said :
       {"tiny on dgx1v, 8 GPUs", "Set bucket_cap_mb=60: saves 41 ms of 320 ms",
        "bucket_cap_mb=60: saves 41 ms", "as good: 54 to 80 MiB", "current: 320 ms",
        "it saves 30 to 52 ms of the current step (80 % interval)", "bucket_cap_mb, MiB",
        "step, ms", "Not calibrated: data sheets."})
    CHECK_MESSAGE(mentions(words, said), said);
}

TEST_CASE("figure of tune: the fastest cap is named and none is recommended if none is worth it") {
  const std::string words = drawn_words(tune_svg(sample::tuned(sample::keep())));
  CHECK(mentions(words, "fastest: 50 MiB, 0.20 ms less"));
  CHECK(mentions(words, "too small to measure (under 1.0 ms)"));
  CHECK(mentions(words, "if collectives took no time: 96.0 ms"));
  CHECK_FALSE(mentions(words, "as good"));
}

TEST_CASE("figure of tune: caps that take many times as long do not flatten the others") {
  TuneResult result = sample::keep();
  CurvePoint slow = sample::point(900, 970_ms, 1);
  slow.cap_range_mb = {900, 1000};
  result.curve.push_back(slow);
  const std::string words = drawn_words(tune_svg(sample::tuned(result)));
  CHECK(mentions(words, "Much slower caps leave the figure through its top"));
  CHECK(mentions(words, "970 ms"));
  CHECK_FALSE(mentions(words, "\n800\n"));
}

TEST_CASE("figure of tune: an empty curve, one point, a cap without an upper end") {
  TuneResult result = sample::keep();
  result.curve = {};
  drawn_words(tune_svg(sample::tuned(result)));
  CurvePoint open = sample::point(0, 97_ms, 1);
  open.cap_range_mb = {0, kNoLimitMb};
  result.curve = {open};
  drawn_words(tune_svg(sample::tuned(result)));
  result.only_caps_asked = true;
  CHECK(
      mentions(drawn_words(tune_svg(sample::tuned(result))), "each marker is a cap you asked for"));
}

TEST_CASE("figure of tune: caps that are as good from 0 on, and without an upper limit") {
  TuneResult result = sample::set();
  result.recommended.cap_range_mb = {0, 80};
  CHECK(mentions(drawn_words(tune_svg(sample::tuned(result))), "as good: up to 80 MiB"));
  result.recommended.cap_range_mb = {54, kNoLimitMb};
  CHECK(mentions(drawn_words(tune_svg(sample::tuned(result))), "as good: from 54 MiB on"));
}

TEST_CASE("figure of all-reduces: NCCL's choices, measured sizes and sizes outside the range") {
  const MeasuredAllReduces measured{"n2.txt", {{2_KiB, 21}, {1024_MiB, 1e5}, {Bytes(), 1}}};
  const std::string words =
      drawn_words(allreduce_svg(sample::all_reduced(drawn_table(16)), measured));
  for (const char* said :
       {"all-reduce on dgx1v, 8 GPUs (2 nodes × 4 V100)", "tree Simple", "ring Simple", "measured",
        "n2.txt. 2 of its sizes lie outside", "busbw, GB/s"})
    CHECK_MESSAGE(mentions(words, said), said);
}

TEST_CASE("plot of all-reduces: no row, one row, a thousand rows, and one GPU") {
  drawn_words(allreduce_svg(sample::all_reduced(drawn_table(0))));
  drawn_words(allreduce_svg(sample::all_reduced(drawn_table(1))));
  drawn_words(allreduce_svg(sample::all_reduced(drawn_table(1000))));
  AllReduceTable alone = drawn_table(4);
  alone.ranks = 1;
  for (AllReduceRow& row : alone.rows) row.time = row.low = row.high = Duration();
  CHECK(mentions(drawn_words(allreduce_svg(sample::all_reduced(alone))), "nothing to reduce"));
}

TEST_CASE(
    "figure of compare: sizes of a cluster are a line, others points, refused candidates a note") {
  const Comparison comparison{.jobs = {drawn_job(100_ms), drawn_job(110_ms), drawn_job(120_ms)},
                              .by_speed = {1, 0, 2}};
  const std::vector<CandidateContext> contexts = {
      sample::candidate("a@1", 8), sample::candidate("a@2", 16), sample::candidate("b", 8)};
  const std::string words = drawn_words(
      compare_svg({comparison, contexts, {{"c", "c", 8, std::nullopt, "needs too much"}}}));
  for (const char* said :
       {"training speed, samples/s", "training speed per GPU, samples/s", "GPUs", "\na\n", "\nb\n",
        "Dashed: ideal, every GPU as", "Not drawn: c: needs too much."})
    CHECK_MESSAGE(mentions(words, said), said);
  CHECK_FALSE(mentions(words, "a@1\n"));
}

TEST_CASE("plot of compare: candidates that differ only in nodes form one line") {
  const Comparison comparison{.jobs = {drawn_job(100_ms), drawn_job(110_ms)}, .by_speed = {1, 0}};
  const std::string words = drawn_words(compare_svg(
      {comparison,
       {sample::candidate("node:1 gpu:8xV100", 8), sample::candidate("node:2 gpu:8xV100", 16)}}));
  CHECK(mentions(words, "\ngpu:8xV100\n"));
}

TEST_CASE("plot of compare: names may hold any character, and five hundred candidates fit") {
  Comparison comparison;
  std::vector<CandidateContext> contexts;
  for (std::size_t i = 0; i < 500; ++i) {
    comparison.jobs.push_back(drawn_job(100_ms));
    comparison.by_speed.push_back(i);
    contexts.push_back(sample::candidate("<&\"'>" + std::string(200, 'x') + std::to_string(i), 8));
  }
  CHECK(mentions(drawn_words(compare_svg({comparison, contexts})), "The 60 fastest of 500."));
}
