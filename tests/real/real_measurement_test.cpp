// From the records of all ranks to the reported measurement.
#include <doctest/doctest.h>

#include <algorithm>

#include "point_measurement.hpp"
#include "step_record.hpp"

using namespace ddpsim;

namespace {

TimePoint at(double us) {
  return TimePoint(Duration::microseconds(us));
}

/// A step that begins at `begin`. Forward takes 10, backward 20, a copy 2, and the optimizer 3. The
/// one bucket is launched at 25 and ends at 40. `start` is when its all-reduce starts.
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
                            .done = at(begin + 40),
                            .copy_out_begin = at(begin + 40),
                            .copy_out_end = at(begin + 42)});
  return record;
}

}  // namespace

TEST_CASE(
    "real measurement: parts of the step, with transfer separate from waiting for the last rank") {
  const std::vector<std::vector<StepRecord>> ranks = {
      complete_steps({step(0), step(50), step(120)}),
      complete_steps({step(0, 35), step(50, 35), step(120, 35)})};
  MeasuredConfiguration measured;
  measure(ranks, measured);
  CHECK(measured.iterations_us == std::vector<double>{50, 70});
  CHECK(measured.iteration_us.median == 60);
  CHECK(measured.forward_us.median == 10);
  CHECK(measured.backward_us.median == 20);
  CHECK(measured.communication_us.median == 5);  // since rank 1's arrival at 35
  CHECK(measured.exposed_communication_us.median ==
        10);  // since the end of backward, including waiting
  CHECK(measured.finalize_us.median == 2);
  CHECK(measured.optimizer_us.median == 3);
  REQUIRE(measured.buckets.size() == 1);
  CHECK(measured.buckets[0].bytes == Bytes(800));
  CHECK(measured.buckets[0].start_us.median == 26);
  CHECK(measured.buckets[0].last_arrival_us.median == 35);
}

TEST_CASE("real measurement: a copy out during a later all-reduce is not a separate part") {
  StepRecord two = step(0);
  two.buckets.push_back(two.buckets.front());
  two.buckets[1].start = at(39);
  // during the copy of bucket 0, 40 to 42
  two.buckets[1].end = at(41.5);
  two.buckets[1].copy_out_begin = at(42);
  two.buckets[1].copy_out_end = at(43);
  MeasuredConfiguration measured;
  measure({complete_steps({two, step(50)})}, measured);
  CHECK(measured.finalize_us.median == 1.5);
  StepRecord cast = step(0);
  cast.buckets[0].done = at(43);  // then copied until 45
  cast.buckets[0].copy_out_begin = at(43);
  cast.buckets[0].copy_out_end = at(45);
  measure({complete_steps({cast, step(50)})}, measured);
  CHECK(measured.finalize_us.median == 5);
}

TEST_CASE("real measurement: the timeline is the lower median step, relative to rank 0's forward") {
  // Steps differ in the start of their all-reduce. They last 90, 50, 70, 60 and 80; nothing more is
  // known of the last. Rank 1 begins 1 us after rank 0.
  const std::vector<double> begins = {0, 90, 140, 210, 270, 350};
  const auto drawn = [&](std::size_t steps) {
    std::vector<std::vector<StepRecord>> ranks(2);
    for (std::size_t i = 0; i <= steps; ++i) {
      ranks[0].push_back(step(begins[i], 26 + static_cast<double>(i)));
      ranks[1].push_back(step(begins[i] + 1, 26 + static_cast<double>(i)));
    }
    return median_timeline({complete_steps(ranks[0]), complete_steps(ranks[1])});
  };
  const auto start_of = [](const RankTimeline& rank, const char* name) {
    const auto span = std::find_if(rank.spans.begin(), rank.spans.end(),
                                   [&](const Span& one) { return one.name == name; });
    REQUIRE(span != rank.spans.end());
    return span->start;
  };
  const Timeline timeline = drawn(5);  // the third step, of 70
  CHECK(timeline.clock == "measured; zero is the start of forward on the compute stream of rank 0");
  REQUIRE(timeline.ranks.size() == 2);
  CHECK(timeline.ranks[0].rank == 0);
  CHECK(timeline.ranks[1].rank == 1);
  CHECK(start_of(timeline.ranks[0], "all_reduce") == at(28));
  CHECK(start_of(timeline.ranks[1], "all_reduce") == at(29));
  CHECK(timeline.ranks[0].spans.front().name == "forward");
  CHECK(timeline.ranks[0].spans.front().start == at(0));
  CHECK(timeline.ranks[1].spans.front().start == at(1));
  CHECK(timeline.ranks[0].spans.back().name == "optimizer");
  // The lower median of 90, 50, 70 and 60 is the fourth step; of 90 and 50, the second; of one
  // step, that step.
  CHECK(start_of(drawn(4).ranks[0], "all_reduce") == at(29));
  CHECK(start_of(drawn(2).ranks[0], "all_reduce") == at(27));
  CHECK(start_of(drawn(1).ranks[0], "all_reduce") == at(26));
  CHECK(median_timeline({complete_steps({step(0)})}).ranks.empty());  // its duration is unknown
}

TEST_CASE("real measurement: no time passes between two intervals of steps") {
  std::vector<StepRecord> steps = complete_steps({step(0), step(50)});
  steps.push_back(complete_steps({step(1000), step(1060)}).front());
  MeasuredConfiguration measured;
  measure({steps}, measured);
  CHECK(measured.iterations_us == std::vector<double>{50, 60});
}

TEST_CASE("real measurement: quantiles of every part of three steps") {
  // Steps of 50, 70 and 60. Rank 1 starts its all-reduce at 35 in the first two, and at 29 in the
  // third.
  const std::vector<std::vector<StepRecord>> ranks = {
      complete_steps({step(0), step(50), step(120), step(180)}),
      complete_steps({step(0, 35), step(50, 35), step(120, 29), step(180)})};
  MeasuredConfiguration measured;
  measure(ranks, measured);
  CHECK(measured.iterations_us == std::vector<double>{50, 70, 60});
  CHECK(measured.iteration_us.median == 60);
  CHECK(measured.iteration_us.p10 == 50);
  CHECK(measured.iteration_us.p90 == 70);
  CHECK(measured.communication_us.median == 5);
  CHECK(measured.communication_us.p90 == 11);  // the third step
  REQUIRE(measured.buckets.size() == 1);
  const MeasuredBucket& bucket = measured.buckets[0];
  CHECK(bucket.parameters == std::vector<std::size_t>{1, 0});
  CHECK(bucket.ready_us.median == 25);
  CHECK(bucket.launch_us.median == 25.5);
  CHECK(bucket.start_us.median == 26);
  CHECK(bucket.last_arrival_us.median == 35);
  CHECK(bucket.last_arrival_us.p10 == 29);
  CHECK(bucket.end_us.median == 40);
}

TEST_CASE(
    "real measurement: records survive the transfer to rank 0, and damaged ones are harmless") {
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
  CHECK(quantiles.p10 == 1);
  CHECK(quantiles.p90 == 5);
}

TEST_CASE(
    "real measurement: all-reduces in the columns of nccl-tests, with ranks numbered in their "
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
