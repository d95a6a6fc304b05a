// Step times from files that people have: which names and lines hold steps, in which unit, and what
// is refused.
#include "ddpsim/calibrate/validate/step_times.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "mentions.hpp"
#include "step_key.hpp"
#include "trace_files.hpp"

using namespace ddpsim;

namespace {

MeasuredSteps steps_in(const std::string& text, const std::string& column = "") {
  return parse_step_times(text, "steps", {.key = column});
}

std::vector<double> milliseconds_of(const MeasuredSteps& times) {
  std::vector<double> values;
  for (const Duration step : times.steps) values.push_back(step.milliseconds());
  return values;
}

std::string steps_complaint(const std::string& text, const std::string& column = "") {
  return complaint_of([&] { steps_in(text, column); });
}

struct StepsCase {
  std::string text;
  std::vector<double> ms;
};

}  // namespace

TEST_CASE("step times: a table's column states its unit in its name or in its cells") {
  const std::vector<StepsCase> cases = {
      {"step_time_ms\n12.5\n13\n", {12.5, 13}},
      {"epoch,step,train_loss,step_time_s\n0,0,1.5,0.25\n0,1,1.4,0.125\n", {250, 125}},
      {"step,Iteration Time (us),data_time_ms\n1,1500,3\n2,2500,4\n", {1.5, 2.5}},
      {"# by hand\r\nstep , step time\r\n1, 12.5ms\r\n2, 0.5s\r\n", {12.5, 500}},
      {"step,train/steps_per_sec\n1,4\n2,5\n", {250, 200}},
      {"it/s\n4\n", {250}},
      {"s/it\n4\n", {4000}},
      {"stepTimeMs\n4\n", {4}},
      {"iteration_us,samples\n4000,3\n", {4}},
  };
  for (const StepsCase& one : cases) {
    CAPTURE(one.text);
    CHECK(milliseconds_of(steps_in(one.text)) == one.ms);
  }
  CHECK(steps_in("step_time_ms\n12.5\n").source == "1 value of column \"step_time_ms\"");
}

TEST_CASE("step times: empty cells of Lightning's CSVLogger are reported") {
  const MeasuredSteps times =
      steps_in("epoch,step,val_loss,batch_time_s\n0,9,,0.5\n0,9,1.25,\n0,19,,0.25\n");
  CHECK(milliseconds_of(times) == std::vector<double>{500, 250});
  CHECK(times.source == "2 values of column \"batch_time_s\"; 1 row is without one");
}

TEST_CASE("step times: a column chosen by name only needs a unit") {
  const std::string table = "step_time_ms,fast_path_ms,plain\n12,3,4\n";
  CHECK(milliseconds_of(steps_in(table, "fast_path_ms")) == std::vector<double>{3});
  CHECK(mentions(steps_complaint(table, "plain"),
                 "steps:line 2: \"4\" in column \"plain\" has no unit"));
  CHECK(mentions(steps_complaint(table, "fast_path"), "Did you mean \"fast_path_ms\"?"));
}

TEST_CASE("step times: lines of logs, by key or by rate") {
  const std::vector<StepsCase> cases = {
      {"starting\n2026-11-22 10:00:01 INFO step=1 step_time=0.125 s loss=2\nstep_time=0.25 s\n",
       {125, 250}},
      {"[rank0]: step time: 125.5ms\n", {125.5}},
      {"iter 10 step_time=0.104 s\niter 20 step_time=0.105 s\n", {104, 105}},
      {" iteration 10/ 500 | elapsed time per iteration (ms): 527.8 | lr: 1e-4 |\n", {527.8}},
      {"{'loss': 0.3, 'step_time_ms': 12.5}\n{'loss': 0.2, 'step_time_ms': 13}\n", {12.5, 13}},
      {"{\"step\": 1, \"iter_time_s\": 0.5}\n{\"step\": 2, \"iter_time_s\": 0.25}\n", {500, 250}},
      {"100/100 [====] - 12s 123ms/step - loss: 0.5\n", {123}},
      {"step 5: 123.4 ms/step\n", {123.4}},
      {" 10%|# | 50/500 [00:10<01:30,  5.00it/s]\r 20%|## | 100/500 [00:20<01:20,  1.25s/it]\n",
       {200, 1250}},
      {"4 steps/s\n", {250}},
      {"steps_per_second: 4\n", {250}},
      {"eval step_time=9 s\nstep_time=0.5 s\n", {500}},
  };
  for (const StepsCase& one : cases) {
    CAPTURE(one.text);
    CHECK(milliseconds_of(steps_in(one.text)) == one.ms);
  }
  CHECK(mentions(steps_in(" 5.00it/s").source, "a running mean if a progress bar wrote it"));
}

TEST_CASE("step times: a trainer_state.json gives the mean, even with NaN elsewhere") {
  const std::string state = R"({"global_step": 500, "log_history": [
    {"epoch": 0.5, "grad_norm": NaN, "loss": 1.5, "step": 250},
    {"epoch": 1.0, "step": 500, "total_flos": 1.0, "train_loss": 1.2, "train_runtime": 62.5,
     "train_samples_per_second": 64.0, "train_steps_per_second": 8.0}], "max_steps": 500})";
  // transformers' own steps_per_second is the same value rounded, and would be a second key.
  const MeasuredSteps times = steps_in(state);
  CHECK(milliseconds_of(times) == std::vector<double>{125});
  CHECK(mentions(times.source, "train_runtime over 500 steps: their mean"));
  CHECK(mentions(steps_complaint(R"({"log_history": [{"train_runtime": 62.5}]})"),
                 "train_runtime comes without the step"));
}

TEST_CASE("step times: a trainer_state.json that a later run continued") {
  const auto state = [](const std::string& entries) {
    return R"({"global_step": 1, "log_history": [)" + entries + R"(], "max_steps": 800})";
  };
  const std::string first = R"({"loss": 2, "step": 250}, {"step": 500, "train_runtime": 62.5})";
  // Continued training: 300 steps in 30 s; the count goes on.
  const MeasuredSteps on =
      steps_in(state(first + R"(, {"loss": 1, "step": 750}, {"train_runtime": 30, "step": 800})"));
  CHECK(milliseconds_of(on) == std::vector<double>{100});
  CHECK(mentions(on.source, "over 300 steps after the first 500: their mean"));
  // Started again: its own 100 steps.
  const std::string anew = R"(, {"step": 50}, {"step": 100}, {"step": 100, "train_runtime": 20})";
  CHECK(milliseconds_of(steps_in(state(first + anew))) == std::vector<double>{200});
  // If the count goes back to a checkpoint, its start is unknown. The same holds for a run without
  // a step.
  const std::string back =
      R"({"step": 450}, {"step": 410}, {"step": 420}, {"step": 500, "train_runtime": 9})";
  CHECK(mentions(steps_complaint(state(back)), "the count of steps goes back or stops"));
  CHECK(mentions(steps_complaint(state(first + R"(, {"step": 500, "train_runtime": 0.1})")),
                 "the count of steps goes back or stops"));
  // What nothing shows is reported.
  CHECK(mentions(steps_in(state(first)).source, "too short if the run was resumed"));
}

TEST_CASE("step times: a slow start is left out by a rule and counted") {
  std::string table = "step_time_ms\n900\n300\n";
  for (int i = 0; i < 20; ++i) table += fmt::format("{}\n", 100 + i % 3);
  const MeasuredSteps times = steps_in(table);
  CHECK(times.steps.size() == 20);
  CHECK(
      mentions(times.source,
               "; the first 2 are left out as warm-up: longer than every one of the second half"));
  CHECK(mentions(steps_in("step_time_ms\n900\n100\n101\n").source,
                 "; the first is left out as warm-up: over twice as long as every one"));
  CHECK(steps_in("step_time_ms\n900\n100\n").steps.size() == 2);  // either may be the usual one
  const std::string nine = "step_time_ms\n190\n100\n101\n102\n100\n101\n102\n100\n101\n";
  CHECK(steps_in(nine).steps.size() == 9);
  CHECK(steps_in(nine + "102\n").steps.size() == 9);  // ten are enough
}

TEST_CASE("step times: unclear input is refused with the place and the remedy") {
  struct Bad {
    std::string text;
    std::string message;
  };
  const std::vector<Bad> cases = {
      {"", "no step time was found"},
      {"hello\n", "no step time was found"},
      {"step_time=0.125\n", "steps:line 1: \"step_time\" has no unit"},
      {"step,step_time\n1,0.125\n", "line 2: \"0.125\" in column \"step_time\" has no unit"},
      {"step_time_ms,iteration_us\n1,2\n", "2 columns hold step times: step_time_ms, iteration_us"},
      {"step,loss\n1,2\n", "no column has the name of a step time; the columns are step, loss"},
      {"step_time_ms\n-3\n", "line 2: a step of -0.003 s"},
      {"step_time_ms\n0\n", "line 2: a step of 0 s"},
      {"step_time_ms\nnan\n", "column \"step_time_ms\" is empty"},
      {"step_time_ms\n1e12\n", "a step of 1e+09 s"},
      {"it/s\n0\n", "a step of inf s"},
      {"step_time_ms\nfast\n", "\"step_time_ms\": \"fast\" is not a time"},
      {"step_time_ms\n1,2\n", "line 2: 2 cells under 1 names"},
      {"step_time_ms\n", "column \"step_time_ms\" is empty"},
      {"bucket_cap_mb,iteration_us\n25,100\n", "steps with several caps"},
      {"step_time=1 s\n5 ms/step\n", "2 keys hold step times: step_time, ms/step"},
      {"step_time_s_ms=1\n", "has no unit"},
  };
  for (const Bad& one : cases) {
    CAPTURE(one.text);
    CHECK(mentions(steps_complaint(one.text), one.message));
  }
  CHECK(mentions(steps_complaint("step_time=1 s\n", "speed"), "there is no key \"speed\""));
}

TEST_CASE("step times: a file is read, and named if it does not exist") {
  const files::TemporaryFolder folder;
  const std::string path = folder.file("steps.csv", "step_time_ms\n5\n").string();
  CHECK(read_step_times(path).steps.size() == 1);
  CHECK(mentions(complaint_of([&] { read_step_times(path + "x"); }), path + "x"));
}

TEST_CASE("step times: the text before a number belongs to its line, whatever the digit") {
  for (char digit = '0'; digit <= '9'; ++digit) {
    CAPTURE(digit);
    const std::string line = "epoch " + std::string(1, digit) + " step_time=5 ms";
    CHECK(key_before(line, line.size() - 4).text == "step_time");
  }
}
