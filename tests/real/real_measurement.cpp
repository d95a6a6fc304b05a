// From records of all ranks to what is reported.
#include <doctest/doctest.h>

#include "point_measurement.hpp"
#include "step_record.hpp"

using namespace ddpsim;

namespace {

TimePoint at(double us) {
  return TimePoint(Duration::microseconds(us));
}

/// A step that begins at `begin`: forward 10, backward 20 with one bucket that is launched at 25
/// and, where rank 1
/// starts at `other_start`, ends at 40; a copy of 2, an optimizer of 3.
StepRecord step(double begin, double start = 26) {
  StepRecord record{.forward_begin = at(begin),
                    .backward_begin = at(begin + 10),
                    .backward_end = at(begin + 30),
                    .optimizer_begin = at(begin + 42),
                    .optimizer_end = at(begin + 45)};
  record.buckets.push_back({.parameters = {1, 0},
                            .bytes = Bytes(800),
                            .ready = at(begin + 25),
                            .launch_begin = at(begin + 25),
                            .launch_end = at(begin + 25.5),
                            .start = at(begin + start),
                            .end = at(begin + 40),
                            .copy_out_begin = at(begin + 40),
                            .copy_out_end = at(begin + 42)});
  return record;
}

}  // namespace

TEST_CASE("real measurement: parts of the step, waiting for the last rank apart from transfer") {
  const std::vector<std::vector<StepRecord>> ranks = {{step(0), step(50), step(120)},
                                                      {step(0, 35), step(50, 35), step(120, 35)}};
  MeasuredConfiguration measured;
  measure(ranks, measured);
  CHECK(measured.iterations_us == std::vector<double>{50, 70});
  CHECK(measured.iteration_us.median == 60);
  CHECK(measured.forward_us.median == 10);
  CHECK(measured.backward_us.median == 20);
  CHECK(measured.communication_us.median == 5);  // from rank 1's arrival at 35
  CHECK(measured.exposed_communication_us.median ==
        10);  // from the end of backward, waiting or not
  CHECK(measured.finalize_us.median == 2);
  CHECK(measured.optimizer_us.median == 3);
  REQUIRE(measured.buckets.size() == 1);
  CHECK(measured.buckets[0].bytes == Bytes(800));
  CHECK(measured.buckets[0].start_us.median == 26);
  CHECK(measured.buckets[0].last_arrival_us.median == 35);
}

namespace {

/// When, after its step's forward began, the bucket of this rank started: tells steps apart.
double start_of_bucket(const Timeline& timeline, std::size_t rank) {
  for (const Span& span : timeline.ranks[rank].spans)
    if (span.name == "all_reduce") return span.start.since_start().microseconds();
  return 0;
}

}  // namespace

TEST_CASE(
    "real measurement: the timeline is that of the median step, not of the first, fastest or "
    "slowest") {
  // Steps of 90, 50 and 70 us, whose buckets start 26, 27 and 28 us in.
  const std::vector<StepRecord> steps = {step(0, 26), step(90, 27), step(140, 28), step(210)};
  const Timeline timeline = median_timeline({steps});
  REQUIRE(timeline.ranks.size() == 1);
  CHECK(start_of_bucket(timeline, 0) == 28);
}

TEST_CASE(
    "real measurement: of an even number of steps the lower median's, zero at rank 0's forward") {
  // Steps of rank 0: 110, 50, 90 and 70 us; the last is the lower median. Rank 1 is 1 us behind.
  const std::vector<StepRecord> steps = {step(0, 26), step(110, 27), step(160, 28), step(250, 29),
                                         step(320)};
  const std::vector<StepRecord> behind = {step(1, 30), step(111, 31), step(161, 32), step(251, 33),
                                          step(321)};
  const Timeline timeline = median_timeline({steps, behind});
  REQUIRE(timeline.ranks.size() == 2);
  CHECK(timeline.ranks[0].rank == 0);
  CHECK(timeline.ranks[1].rank == 1);
  CHECK(timeline.ranks[0].spans.front().name == "forward");
  CHECK(timeline.ranks[0].spans.front().start == at(0));
  CHECK(timeline.ranks[1].spans.front().start == at(1));
  CHECK(timeline.ranks[0].spans.back().name == "optimizer");
  CHECK(start_of_bucket(timeline, 0) == 29);
  CHECK(start_of_bucket(timeline, 1) == 34);
}

TEST_CASE("real measurement: records survive the way to rank 0, damaged ones do no harm") {
  const std::string text = pack({step(0), step(50)});
  const std::vector<StepRecord> steps = unpack(text);
  REQUIRE(steps.size() == 2);
  CHECK(steps[1].buckets[0].parameters == std::vector<std::size_t>{1, 0});
  CHECK(steps[1].optimizer_end == at(95));
  CHECK(unpack("").empty());
  for (std::size_t size = 0; size < text.size(); size += 7) unpack(text.substr(0, size));
  unpack("1 2 3 4 5 99999999999999999999 x");
}

TEST_CASE("real measurement: quantiles") {
  CHECK(quantiles_of({}).median == 0);
  CHECK(quantiles_of({3}).p90 == 3);
  const Quantiles quantiles = quantiles_of({5, 1, 2, 4, 3});
  CHECK(quantiles.median == 3);
  CHECK(quantiles.p10 == doctest::Approx(1.4));
  CHECK(quantiles.p90 == doctest::Approx(4.6));
}

TEST_CASE(
    "real measurement: all-reduces in the columns of nccl-tests, ranks numbered within their "
    "host") {
  Measurement measurement;
  measurement.ranks = 3;
  measurement.all_reduces = {
      {.size = Bytes(4096), .time_us = {.median = 100, .p10 = 90, .p90 = 120}}};
  const std::string log = measurement_log(measurement, {"a", "a", "b"}, "Tesla V100-SXM2-16GB");
  CHECK(
      log.find(
          "#  Rank  1 Group  0 Pid      2 on          a device  1 [0x00] Tesla V100-SXM2-16GB\n") !=
      std::string::npos);
  CHECK(log.find("#  Rank  2 Group  0 Pid      3 on          b device  0 [0x00]") !=
        std::string::npos);
  CHECK(
      log.find(
          "        4096          1024     float     sum      -1   100.00    0.04    0.05    N/A") !=
      std::string::npos);
}
