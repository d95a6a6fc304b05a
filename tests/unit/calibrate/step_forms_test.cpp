// Step times in the forms that trainers write: each line has a program's own format with values of
// our own.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/calibrate/validate/step_times.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "mentions.hpp"

using namespace ddpsim;

namespace {

MeasuredSteps form_of(const std::string& text, StepTimesAsked asked = {}) {
  return parse_step_times(text, "run", asked);
}

std::vector<double> ms_of_form(const std::string& text, StepTimesAsked asked = {}) {
  std::vector<double> values;
  for (const Duration step : form_of(text, std::move(asked)).steps)
    values.push_back(step.milliseconds());
  return values;
}

std::string form_complaint(const std::string& text, const StepTimesAsked& asked = {}) {
  return complaint_of([&] { form_of(text, asked); });
}

StepTimesAsked asked_for(const std::string& key, const std::string& unit = "") {
  return {.key = key, .unit = parse_step_time_unit(unit)};
}

struct FormCase {
  std::string text;
  std::vector<double> ms;
};

}  // namespace

TEST_CASE(
    "step forms: lines of trainers that state their unit, or have the form of one program only") {
  const std::vector<FormCase> cases = {
      {"iter 10: loss 4.1, time 350.00ms, mfu 35.00%\niter 20: loss 4.0, time 352.00ms, mfu "
       "34.90%\n",
       {350, 352}},
      {"step   8 | loss: 0.31 | norm: 0.49 | dt: 471.50ms | tok/sec: 34764.61\n", {471.5}},
      {"step   10/100 | loss 7.03 (+nanz)| norm 3.2 (+nanz)| lr 4.5e-05 | 352.50 ms | 45.3% bf16 "
       "MFU | 1490000 tok/s\n",
       {352.5}},
      {"step 3: train loss 4.3 (took 1290.5 ms)\n", {1290.5}},
      {"10 | loss 7.8 | lr 1e-5 | 351.50ms | mfu 4.5%\n", {351.5}},
      {"| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 35.25 | loss  7.62\n", {35.25}},
      {"Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.9)  Time: 0.250s, 3279.95/s  (0.512s, 2000.00/s) "
       " LR: 1.0e-05\n",
       {250}},
      {"Epoch(train) [1][ 10/196] lr: 3.3e-04 eta: 0:10:31 time: 0.3125  data_time: 0.0344  "
       "memory: 597\n"
       "Epoch(val) [1][10/20] eta: 0:00:01 time: 0.9  data_time: 0.1\n",
       {312.5}},
      {"eta: 1 day, 0:42:08  iter: 20  loss: 2.5 (nan)  time: 0.7500 (0.9883)  data: 0.0348 "
       "(0.0980)  max mem: 6825\n",
       {750}},
      {"Training epoch 0, iteration 9/99 | lr: 2.4e-05 | train_step_timing in s: 3.5 | "
       "consumed_samples: 5120\n",
       {3500}},
      {"num_steps=5 muon_num_ns_steps=5\n iteration 10/ 500 | elapsed time per iteration (ms): "
       "527.5 | lr: 1e-4 |\n",
       {527.5}},
      {"epoch 001:  10 / 1000 loss=9.1, wps=25000, ups=2.5, wpb=8770, bsz=32, train_wall=4, "
       "wall=12\n",
       {400}},
      {"{\"epoch\": 1, \"loss\": \"9.1\", \"wps\": \"25000\", \"ups\": \"2.5\", \"wpb\": "
       "\"8770\"}\n",
       {400}},
      {"[Rank 0] steps: 10 loss: 9.1 iter time (s): 0.352 samples/sec: 90.9\n", {352}},
      {"\t Train throughput/batches_per_sec: 2.5\n\t Train throughput/device/batches_per_sec: "
       "0.5\n\t Train time/batch: 10\n",
       {400}},
      {"{'loss': 1.2, 'epoch': 0.1}\n{'train_runtime': 62.5, 'train_steps_per_second': "
       "8.0}\n{'eval_steps_per_second': 9.5}\n",
       {125}},
      {"Epoch: [0] Total time: 0:10:22 (0.125 s / it)\n", {125}},
      {"{\"iter\": 50, \"lr\": 0.02, \"memory\": 3793, \"data_time\": 0.01, \"time\": 0.25}\n"
       "{\"mode\": \"val\", \"iter\": 60, \"lr\": 0.02, \"memory\": 1, \"data_time\": 0.01, "
       "\"time\": 9}\n",
       {250}},
      {"Loading checkpoint shards: 100%|##| 2/2 [00:01<00:00,  1.20s/it]\nEpoch 0:  10%|#| 5/50 "
       "[00:10<01:30,  5.00it/s]\n",
       {200}},
      {"step_avg:2105.0ms\nstep_avg:290.0ms\nstep_avg:94.5ms\n", {94.5}},
  };
  for (const FormCase& one : cases) {
    CAPTURE(one.text);
    CHECK(ms_of_form(one.text) == one.ms);
  }
}

TEST_CASE("step forms: documents and exports") {
  const std::vector<FormCase> cases = {
      {R"({"mode": "ddp", "num_gpus": 2, "avg_step_time_ms": 47.5, "throughput_samples_per_sec": 1337.2})",
       {47.5}},
      {R"({"results": {"step_times_ms": [12.5, 13, NaN]}, "eval": {"step_time_ms": 99}})",
       {12.5, 13}},
      {"{\"step\": 1, \"timing\": {\"step_time_ms\": 12.5}}\n{\"step\": 2, \"timing\": "
       "{\"step_time_ms\": 13}}\n",
       {12.5, 13}},
      {"\"Step\",\"a run - step_time_ms\",\"a run - step_time_ms__MIN\",\"a run - "
       "step_time_ms__MAX\"\n\"1\",\"12.5\",\"1\",\"99\"\n",
       {12.5}},
      {"step;step_time_ms\n1;12,5\n2;1.213,5\n", {12.5, 1213.5}},
      {"step\tstep_time_ms\n1\t12.5\n", {12.5}},
      {"step,mode,step_time_ms\n1,train,12.5\n2,val,99\n", {12.5}},
      {"name,step_time_ms\n\"a, b\",\"1,234.5\"\n", {1234.5}},
      {"step,time_ms\n1,12.5\n2,11.5\n", {12.5, 11.5}},
      {"step_time_ms\n4.71K\n", {4710}},
  };
  for (const FormCase& one : cases) {
    CAPTURE(one.text);
    CHECK(ms_of_form(one.text) == one.ms);
  }
}

TEST_CASE("step forms: a key and its unit can be stated, in every form") {
  const std::string torch =
      "Epoch: [5][500/5005]\tTime  1.034 ( 2.526)\tData  0.586 ( 1.589)\nTest: [1/9]\tTime  9.0 ( "
      "9.0)\n";
  CHECK(ms_of_form(torch, asked_for("Time", "s")) == std::vector<double>{1034});
  CHECK(ms_of_form(torch, asked_for("time", "s")) == std::vector<double>{1034});
  CHECK(ms_of_form("t,u\n3,4\n", asked_for("t", "ms")) == std::vector<double>{3});
  CHECK(ms_of_form("t=3 u=4\n", asked_for("u", "ms")) == std::vector<double>{4});
  CHECK(ms_of_form("{\"a\": {\"t\": 3}}", asked_for("a/t", "us")) == std::vector<double>{0.003});
  CHECK(ms_of_form("{\"a\": {\"t\": 4}}", asked_for("t", "it/s")) == std::vector<double>{250});
  CHECK(ms_of_form("speed: 64\n", asked_for("speed", "32/step")) == std::vector<double>{500});
  CHECK(mentions(form_complaint(torch), "run:Time=s"));
  CHECK(mentions(form_complaint("step_time_ms: 0.312s\n"), "run:step_time_ms=s"));
  CHECK(ms_of_form("step_time_ms: 0.312s\n", asked_for("step_time_ms", "s")) ==
        std::vector<double>{312});
  CHECK(mentions(form_complaint("step time=3 ms\n", asked_for("step time", "s")), "another unit"));
  CHECK_FALSE(parse_step_time_unit("parsec"));
  CHECK_FALSE(parse_step_time_unit("samples/s/0gpus"));
  CHECK_FALSE(parse_step_time_unit("tokens/s/gpu"));
}

TEST_CASE("step forms: samples per second need the samples of a step and the number of GPUs") {
  const std::string text = "CurrSamplesPerSec=64.0\nCurrSamplesPerSec=64.0\n";
  CHECK(mentions(form_complaint(text), "--batch N"));
  const MeasuredSteps alone =
      form_of(text, {.key = "", .unit = {}, .samples_per_gpu = 32, .gpus = {}});
  CHECK(alone.steps.front().milliseconds() == 500);
  REQUIRE(alone.warnings.size() == 1);
  CHECK(mentions(alone.warnings.front(), "CurrSamplesPerSec=samples/s/8gpus"));
  // DeepSpeed counts all GPUs.
  CHECK(ms_of_form(text, {.key = "", .unit = {}, .samples_per_gpu = 8, .gpus = 4}).front() == 500);
  const std::string speed = "Epoch[0] Batch [20]\tSpeed: 64.0 samples/sec\n";
  CHECK(mentions(form_complaint(speed, {.key = "", .unit = {}, .samples_per_gpu = 8, .gpus = 4}),
                 "not the number of GPUs"));
  StepTimesAsked each = asked_for("Speed", "samples/s/gpu");
  each.samples_per_gpu = 32;
  each.gpus = 4;
  CHECK(ms_of_form(speed, each) == std::vector<double>{500});
  StepTimesAsked together = asked_for("Speed", "samples/s/4gpus");
  together.samples_per_gpu = 8;
  CHECK(ms_of_form(speed, together) == std::vector<double>{500});
  CHECK(mentions(form_complaint("step: 10  loss: 7.9  tps: 5,800  mfu: 33.1%\n"),
                 "tokens per second"));
  CHECK(ms_of_form("step: 10  loss: 7.9  tps: 5,800  mfu: 33.1%\n",
                   asked_for("tps", "2900/step")) == std::vector<double>{500});
}

TEST_CASE("step forms: what is not a step's time is refused with a remedy") {
  struct Bad {
    std::string text;
    std::string message;
  };
  const std::vector<Bad> cases = {
      {"optimizer_step_time_ms=5 max_step_time_ms=900 p99_step_time_ms=4\n",
       "no step time was found"},
      {"eval_step_time: 9 ms\n", "no step time was found"},
      {"gpu0_step_time_ms: 5\n", "run:gpu0_step_time_ms"},
      {"dataloader time per step: 35 ms\n", "no step time was found"},
      {"{\"step\": 1, \"comm_step_time_ms\": 5}\n{\"step\": 2, \"comm_step_time_ms\": 5}\n",
       "no step time was found"},
      {"Generating samples: 10%|#| 1/10 [00:02<00:18,  2.10s/it]\n", "may mean something else"},
      {"Epochs:  30%|#| 3/10 [05:00<11:40, 100.00s/it]\n", "may mean something else"},
      {"iter 1 time 12 s\niter 2 time 24 s\niter 3 time 36 s\n", "grows from line to line"},
      {"step time: 12x\n", "\"x\" behind the number is not understood"},
      {"step time: 0.3 s / img\n", "not understood"},
      {"step_time_ms: 1 234\n", "not understood"},
      {"step_time_ms: 12:30\n", "not understood"},
      {"step_time_s: 1,234\n", "may be thousands or decimals"},
      {"step_time_ms: 12,5 loss: 3.25\n", "may be two numbers"},
      {"step_time_ms: 123", "ends in the middle of a line"},
      {"mode,step_time_ms\nddp,10\nfsdp,12\n", "several settings (mode: ddp, fsdp)"},
      {R"([{"backend": "gloo", "step_time_ms": 10}, {"backend": "nccl", "step_time_ms": 12}])",
       "several settings (backend"},
      {R"({"schema": "ddpsim.result/1", "iteration_us": 100})", "ddpsim.result/1 document"},
      {R"([{"iter": 1, "time": 0.5}, {"iter": 2, "time": 0.6}])", "\"time\" has no unit"},
      {R"({"log_history": [{"step": 5, "eval_a_steps_per_second": 9.5}]})",
       "this run has not ended (no train_runtime)"},
      {"Test: [1/9] step_time=9 ms\n", "only in lines of an evaluation"},
      {std::string("\x1f\x8b\x08\0\0", 5), "is compressed by gzip. Unpack it: gunzip -k"},
  };
  for (const Bad& one : cases) {
    CAPTURE(one.text);
    CHECK(mentions(form_complaint(one.text), one.message));
  }
}

TEST_CASE(
    "step forms: keys that agree count as one, the plainest is used and the others are "
    "named") {
  const MeasuredSteps times =
      form_of("Epoch 0:  10%|#| 5/50 [00:10<01:30,  5.00it/s, train_step_timing in s=0.201]\n");
  CHECK(times.steps.front().milliseconds() == doctest::Approx(201));
  CHECK(mentions(times.source, "not taken: it/s"));
  // An evaluation's bar starts again between two readings of the training's bar.
  const std::string outer = " 10%|#| 10/100 [00:10<01:30,  4.00it/s]\r";
  const std::string inner = " 50%|#| 4/8 [00:01<00:01, 50.00it/s]\r";
  CHECK(ms_of_form(outer + inner + inner + " 20%|#| 20/100 [00:20<01:20,  4.00it/s]\r" +
                   " 12%|#| 1/8 [00:01<00:01, 50.00it/s]\n") == std::vector<double>{250, 250});
  CHECK(mentions(form_complaint(outer + inner), "2 keys hold step times: it/s of 100, it/s of 8"));
}

TEST_CASE("step forms: the slowest rank of each step, and a rank that is not a process") {
  const auto lines = [](const std::string& word) {
    std::string text;
    for (int step = 1; step <= 6; ++step)
      for (const int rank : {0, 1})
        text += fmt::format("{}: {} step {} step_time_ms: {}\n", word, rank, step,
                            rank == 0 ? 200 : 210);
    return text;
  };
  for (const std::string word : {"rank", "local_rank", "global_rank"}) {
    CAPTURE(word);
    CHECK(ms_of_form(lines(word)) == std::vector<double>(6, 210));
  }
  for (const std::string word : {"lora_rank", "rerank", "low-frank"})
    CHECK_MESSAGE(ms_of_form(lines(word)).size() == 12, word);
}

namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t count) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(state_ >> 33) % count;
  }
  const std::string& among(const std::vector<std::string>& words) {
    return words[below(words.size())];
  }

 private:
  std::uint64_t state_;
};

/// `ms` as people and programs of several locales write it.
std::string written(Draws& draws, double ms, std::string& unit) {
  switch (draws.below(9)) {
    case 0:
      return fmt::format("{:.1f}", ms);
    case 1:
      return fmt::format("{:.1f}{}ms", ms, draws.below(2) == 0 ? "" : " ");
    case 2:
      return fmt::format("{:.4f}{}s", ms / 1000, draws.below(2) == 0 ? "" : " ");
    case 3:
      return fmt::format("{:.4f}K", ms / 1000);
    case 4:
      return ms < 1000 ? fmt::format("{:.1f}", ms)
                       : fmt::format("{},{:05.1f}", static_cast<int>(ms) / 1000,
                                     ms - 1000 * (static_cast<int>(ms) / 1000));
    case 5: {
      std::string comma = fmt::format("{:.1f}", ms);
      comma[comma.find('.')] = ',';
      return comma;
    }
    case 6:
      return ms < 1000 ? fmt::format("{:.0f}", ms)
                       : fmt::format("{} {:03.0f}", static_cast<int>(ms) / 1000,
                                     ms - 1000 * (static_cast<int>(ms) / 1000));
    case 7:
      unit = "s";
      return fmt::format("{:.4f}", ms / 1000);
    default:
      return fmt::format("{:.1f} ({:.1f})", ms, 2 * ms);
  }
}

}  // namespace

TEST_CASE("step forms: a number is read correctly or refused, whatever surrounds it") {
  const std::vector<std::string> other = {"optimizer_",  "max_",        "p99_",  "gpu0_",
                                          "eval_squad_", "dataloader ", "Data ", "min "};
  const std::vector<std::string> behind = {"",     " loss=3.2", ", lr: 1e-4", " |",
                                           " | x", "%",         "x",          "/50",
                                           "e",    " ms/token", "±0.2",       ":30"};
  const std::vector<std::string> before = {
      "", "[rank0]: ", "INFO ", "2026-11-22 10:00:01,123 - INFO - ", "step 7 | ", "Test: [1/5] "};
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    Draws draws(seed);
    const double ms = 0.1 * static_cast<double>(1 + draws.below(50'000));
    std::string unit = "ms";
    const std::string number = written(draws, ms, unit);
    const bool of_other = draws.below(4) == 0;
    const std::string key = (of_other ? draws.among(other) : "") + "step_time" +
                            (draws.below(5) == 0 ? "" : "_" + unit);
    std::string line = draws.among(before) + key + draws.among({": ", "=", " : ", "=  "}) + number +
                       draws.among(behind) + "\n";
    if (draws.below(6) == 0) line = "loss: 0.25\n" + line;
    if (draws.below(8) == 0) line.resize(line.size() - 1 - draws.below(4));
    CAPTURE(seed);
    CAPTURE(line);
    CAPTURE(ms);
    try {
      const MeasuredSteps times = form_of(line);
      CHECK_FALSE(of_other);
      REQUIRE(times.steps.size() == 1);
      // Keeps the number of digits that were written.
      CHECK(std::abs(times.steps.front().milliseconds() - ms) <= 0.6);
    } catch (const InputError&) {
    }
  }
}
