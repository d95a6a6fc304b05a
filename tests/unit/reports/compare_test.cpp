// The first line of `ddpsim compare`: which candidate trains faster, and whether that is certain.
#include <doctest/doctest.h>

#include <string>

#include "first_line.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

ComparedJob job(Duration step, Speedup behind = {}) {
  ComparedJob job;
  job.times.iteration = step;
  job.times.exposed_communication = step.scaled(0.125);
  job.times.loss[LossCause::exposed_all_reduce] = step.scaled(0.2);
  job.behind = behind;
  return job;
}

/// The text for "near", which is faster than "far" by `speedup`.
std::string text_with(const Speedup& speedup) {
  const Comparison comparison{.jobs = {job(120_ms, speedup), job(100_ms)}, .by_speed = {1, 0}};
  return compare_text({comparison, {sample::candidate("far", 8), sample::candidate("near", 8)}},
                      {});
}

}  // namespace

TEST_CASE("compare text: a certain speedup is a percentage, a large one a factor") {
  CHECK(first_line(text_with({20, 12, 28})) ==
        "near (8 GPUs) trains 20 % faster than far (8 GPUs) (12 % to 28 %).");
  CHECK(first_line(text_with({130, 90, 170})) ==
        "near (8 GPUs) trains 2.3 times as fast as far (8 GPUs) (1.9 to 2.7).");
  // Ends that would look the same get one more digit.
  CHECK(first_line(text_with({90, 88, 93})) ==
        "near (8 GPUs) trains 1.9 times as fast as far (8 GPUs) (1.88 to 1.93).");
}

TEST_CASE("compare text: a speedup that may be below zero is not decided") {
  CHECK(
      first_line(text_with({3, -4.2, 9})) ==
      "Not decided: near (8 GPUs) is predicted to train 3.0 % faster than far (8 GPUs), but it may "
      "be anything from 4.2 % slower to 9.0 % faster.");
  CHECK(first_line(text_with({0, -5, 5})) ==
        "near (8 GPUs) and far (8 GPUs) train equally fast, as far as is known: 5.0 % slower to "
        "5.0 % "
        "faster.");
}

TEST_CASE(
    "compare text: the fastest is compared with the next of as many GPUs, else with the next") {
  const Comparison comparison{
      .jobs = {job(100_ms), job(98_ms, {90, 80, 99}), job(120_ms, {20, 12, 28})},
      .by_speed = {0, 1, 2}};
  CHECK(first_line(compare_text({comparison,
                                 {sample::candidate("a@2", 16), sample::candidate("a@1", 8),
                                  sample::candidate("b@2", 16)}},
                                {})) ==
        "a@2 (16 GPUs) trains 20 % faster than b@2 (16 GPUs) (12 % to 28 %).");
  CHECK(
      first_line(compare_text(
          {comparison,
           {sample::candidate("a@2", 16), sample::candidate("a@1", 8), sample::candidate("b", 8)}},
          {})) == "a@2 (16 GPUs) trains 1.9 times as fast as a@1 (8 GPUs) (1.8 to 2.0).");
}

TEST_CASE("compare text: rows are sorted by speed, JSON and CSV keep the order given") {
  const Comparison comparison{.jobs = {job(120_ms, {20, 12, 28}), job(100_ms)}, .by_speed = {1, 0}};
  const std::vector<CandidateContext> contexts = {sample::candidate("far", 8),
                                                  sample::candidate("near", 8)};
  const std::string text = compare_text({comparison, contexts}, {});
  CHECK(text.find("\n  near") < text.find("\n  far"));
  CHECK(text.find("20 % (12 to 28)") != std::string::npos);
  CHECK(text.find("2600") != std::string::npos);  // 256 samples in 100 ms, two digits
  const std::string json = compare_json({comparison, contexts});
  CHECK(json.find("\"far\"") < json.find("\"near\""));
  CHECK(json.find("\"by_speed\": [1, 0]") != std::string::npos);
  CHECK(json.find("\"fastest_is_certain\": true") != std::string::npos);
  CHECK(compare_csv({comparison, contexts}).find("\ntiny,far,,8,1,120000,") != std::string::npos);
}

TEST_CASE("compare text: a single job is described, and names cannot control the terminal") {
  const Comparison comparison{.jobs = {job(100_ms)}, .by_speed = {0}};
  CHECK(first_line(compare_text({comparison, {sample::candidate("near", 8)}}, {})) ==
        "tiny on near, 8 GPUs: 100 ms a step (2600 samples/s, scaling efficiency 80 %).");
  CHECK(compare_text({comparison, {sample::candidate("ne\033ar", 8)}}, {}).find('\033') ==
        std::string::npos);
}
