// A step drawn character by character. A width of 39 leaves 20 cells of 1 ms: 17 are the label, 2
// the frame.
#include <doctest/doctest.h>

#include "overlap_drawing.hpp"
#include "reports_sample.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using sample::at;

namespace {

/// Forward 4 ms, backward 11, exposed 2, finalize 1, optimizer 2: 20 ms.
SimulationResult twenty() {
  SimulationResult result;
  result.step.times = {.iteration = 20_ms,
                       .forward = 4_ms,
                       .backward = 11_ms,
                       .exposed_communication = 2_ms,
                       .finalize = 1_ms,
                       .optimizer = 2_ms};
  return result;
}

BucketResult bucket(Duration start, Duration last_arrival, Duration end) {
  BucketResult result;
  result.start = at(start);
  result.last_arrival = at(last_arrival);
  result.end = at(end);
  return result;
}

std::string drawn_overlap(const SimulationResult& result, int width = 39) {
  return overlap_drawing(result, {.width = width}, 3);
}

/// The row with this label, without its frame.
std::string row(const std::string& drawing, const std::string& label) {
  const std::string bar = "│";
  const std::size_t at_label = drawing.find(label);
  const std::size_t first = drawing.find(bar, at_label) + bar.size();
  return drawing.substr(first, drawing.find(bar, first) - first);
}

std::string communication(const SimulationResult& result) {
  return row(drawn_overlap(result), "communication");
}
std::string compute(const SimulationResult& result) {
  return row(drawn_overlap(result), "compute");
}

}  // namespace

TEST_CASE("drawing: compute is above transfers, waits are dots, and the length is at the end") {
  SimulationResult result = twenty();
  result.step.buckets = {bucket(6_ms, 7_ms, 9_ms), bucket(13_ms, 13_ms, 17_ms)};
  // The 8 letters of "backward" in 11 cells leave no room for a shaded cell on either side.
  CHECK(drawn_overlap(result) ==
        R"(  compute        │░░░░▒▒▒▒▒▒▒▒▒▒▒   ▓▓│
  communication  │      ·00    1111   │
                  0            20.0 ms
)");
}

TEST_CASE("drawing: a name needs four more cells than it has letters") {
  SimulationResult result = twenty();
  result.step.times.forward = 3_ms;
  result.step.times.backward = 12_ms;
  CHECK(compute(result) == "░░░▒ backward ▒   ▓▓");
  result.step.times.forward = 2_ms;
  result.step.times.backward = 13_ms;  // the odd cell comes last
  CHECK(compute(result) == "░░▒ backward ▒▒   ▓▓");
}

TEST_CASE("drawing: a GPU of usual speed computes, then waits for the slowest, drawn as dots") {
  SimulationResult result = twenty();
  result.step.times.forward = 3_ms;
  result.step.times.backward = 6_ms;
  result.step.times.slowed_backward = 6_ms;
  CHECK(compute(result) == "░░░▒▒▒▒▒▒······   ▓▓");
}

TEST_CASE("drawing: short phases stay visible, and a cell is filled from its middle on") {
  SimulationResult result = twenty();
  result.step.buckets = {bucket(3.4_ms, 3.4_ms, 3.45_ms), bucket(7.5_ms, 7.5_ms, 9.49_ms)};
  CHECK(communication(result) == "   0    1           ");
  result.step.buckets = {bucket(20_ms, 20_ms, 20_ms)};
  CHECK(communication(result) == "                   0");
}

TEST_CASE("drawing: buckets are numbered 0 to 9, a to z, then from 0 again") {
  SimulationResult result = twenty();
  result.step.buckets.assign(38, bucket(19_ms, 19_ms, 20_ms));
  const auto draw = [&](std::size_t index, Duration from, Duration to) {
    result.step.buckets[index] = bucket(from, from, to);
  };
  draw(9, 1_ms, 2_ms);
  draw(10, 2_ms, 3_ms);
  draw(35, 3_ms, 4_ms);
  draw(36, 4_ms, 5_ms);
  CHECK(communication(result) == " 9az0              1");
}

TEST_CASE(
    "drawing: the optimizer is drawn when rank 0 steps, else after everything that precedes it") {
  SimulationResult result = twenty();
  CHECK(compute(result) == "░░░░▒▒▒▒▒▒▒▒▒▒▒   ▓▓");
  result.step.optimizer_start = at(16_ms);
  result.step.optimizer_end = at(17_ms);
  CHECK(compute(result) == "░░░░▒▒▒▒▒▒▒▒▒▒▒ ▓   ");
}

TEST_CASE("drawing: it ends with the latest of step, optimizer and transfers") {
  SimulationResult result = twenty();
  result.step.times.iteration = 10_ms;
  CHECK(drawn_overlap(result).find(" 20.0 ms\n") != std::string::npos);
  result.step.buckets = {bucket(30_ms, 30_ms, 40_ms)};
  CHECK(drawn_overlap(result).find(" 40.0 ms\n") != std::string::npos);
  CHECK(communication(result) == "               00000");
  result.step.times.iteration = 50_ms;
  CHECK(drawn_overlap(result).find(" 50.0 ms\n") != std::string::npos);
}

TEST_CASE("drawing: no forward, no backward, no optimizer leave their cells empty") {
  SimulationResult result;
  result.step.times = {.iteration = 20_ms, .backward = 5_ms};
  CHECK(compute(result) == "▒▒▒▒▒               ");
}

TEST_CASE("drawing: a step that takes no time or a terminal under twenty cells has no drawing") {
  CHECK(drawn_overlap({}).empty());
  CHECK(drawn_overlap(twenty(), 38).empty());
  CHECK_FALSE(drawn_overlap(twenty(), 39).empty());
}

TEST_CASE(
    "overlap drawing: if steps overlap, one period is drawn from the counted start of forward") {
  // The previous step ends 3 ms into this forward, which takes 7 ms. Everything else is as above, 3
  // ms later.
  SimulationResult result = twenty();
  const std::string apart = drawn_overlap(result);
  result.step.times.forward_ahead = 3_ms;
  CHECK(drawn_overlap(result) == apart);
  result.step.buckets = {bucket(8_ms, 8_ms, 20_ms)};
  CHECK(communication(result) == "     000000000000   ");
}
