// The full answer when step times are read: each step, where it was found, what was left out and
// what is doubtful. Otherwise what is wrong and what to give.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/calibrate/validate/step_times.hpp"

using namespace ddpsim;

namespace {

struct StepText {
  std::string text;
  std::string answer;  ///< milliseconds | source | warnings, or the complaint
};

std::string full_answer(const std::string& text) {
  std::string answer;
  const std::string complaint = complaint_of([&] {
    const MeasuredSteps measured = parse_step_times(text, "run", {});
    for (const Duration step : measured.steps)
      answer += fmt::format("{:.6g} ", step.milliseconds());
    answer += "| " + measured.source;
    for (const std::string& warning : measured.warnings) answer += " | " + warning;
  });
  return complaint.empty() ? answer : complaint;
}

}  // namespace

TEST_CASE("step times: the full answer to a record, one record for each kind of answer") {
  const std::vector<StepText> records = {
      {R"({"mode": "ddp", "num_gpus": 2, "avg_step_time_ms": 47.5, "throughput_samples_per_sec": 1337.2})",
       "47.5 | 1 value of key \"avg_step_time_ms\""},
      {R"({"results": {"step_times_ms": [12.5, 13, NaN]}, "eval": {"step_time_ms": 99}})",
       "12.5 13 | 2 values of key \"results/step_times_ms\"; 1 line is without one"},
      {R"([{"backend": "gloo", "step_time_ms": 10}, {"backend": "nccl", "step_time_ms": 12}])",
       "run: its steps have several settings (backend: gloo, nccl). Give the steps of each "
       "setting in their own file"},
      {R"({"schema": "ddpsim.result/1", "iteration_us": 100})",
       "run: is a ddpsim.result/1 document of ddpsim, not a record of a training. Give the output "
       "of the training, or a time such as 104ms"},
      {R"([{"iter": 1, "time": 0.5}, {"iter": 2, "time": 0.6}])",
       "run: \"time\" has no unit. State its unit, as in run:time=s"},
      {R"({"log_history": [{"step": 5, "eval_a_steps_per_second": 9.5}]})",
       "run: this run has not ended (no train_runtime), so it has no step time. Let the run end, "
       "give a log with its steps, or the mean itself, such as 104ms"},
      {"iter 10: loss 4.1, time 350.00ms, mfu 35.00%\n"
       "iter 20: loss 4.0, time 352.00ms, mfu 34.90%\n",
       "350 352 | 2 values of \"time\" in its lines"},
      {"step   8 | loss: 0.31 | norm: 0.49 | dt: 471.50ms | tok/sec: 34764.61\n",
       "471.5 | 1 value of \"dt\" in its lines"},
      {"Epoch(train) [1][ 10/196] lr: 3.3e-04 eta: 0:10:31 time: 0.3125  data_time: 0.0344  "
       "memory: 597\n"
       "Epoch(val) [1][10/20] eta: 0:00:01 time: 0.9  data_time: 0.1\n",
       "312.5 | 1 value of \"time\" in its lines, in seconds, as detectron2 and mmengine write it; "
       "1 line of an evaluation left out"},
      {"eta: 1 day, 0:42:08  iter: 20  loss: 2.5 (nan)  time: 0.7500 (0.9883)  data: 0.0348 "
       "(0.0980)  max mem: 6825\n",
       "750 | 1 value of \"time\" in its lines, in seconds, as maskrcnn-benchmark and torchvision "
       "write it"},
      {"epoch 001:  10 / 1000 loss=9.1, wps=25000, ups=2.5, wpb=8770, bsz=32, train_wall=4, "
       "wall=12\n",
       "400 | 1 value of \"ups\" in its lines, updates per second, as fairseq writes it"},
      {"{\"epoch\": 1, \"loss\": \"9.1\", \"wps\": \"25000\", \"ups\": \"2.5\", \"wpb\": "
       "\"8770\"}\n",
       "400 | 1 value of key \"ups\", updates per second, as fairseq writes it"},
      {"\t Train throughput/batches_per_sec: 2.5\n"
       "\t Train throughput/device/batches_per_sec: 0.5\n"
       "\t Train time/batch: 10\n",
       "400 | 1 value of \"Train throughput/batches_per_sec\" in its lines; not taken: Train "
       "time/batch"},
      {"{'loss': 1.2, 'epoch': 0.1}\n"
       "{'train_runtime': 62.5, 'train_steps_per_second': 8.0}\n"
       "{'eval_steps_per_second': 9.5}\n",
       "125 | 1 value of \"train_steps_per_second\" in its lines, the mean of a whole run; too "
       "short if the run was resumed or stopped early, because it counts all planned steps"},
      {"Epoch: [0] Total time: 0:10:22 (0.125 s / it)\n",
       "125 | 1 value of \"it/s\" in its lines, the mean of a whole run"},
      {"Loading checkpoint shards: 100%|##| 2/2 [00:01<00:00,  1.20s/it]\n"
       "Epoch 0:  10%|#| 5/50 [00:10<01:30,  5.00it/s]\n",
       "200 | 1 value of \"it/s\" in its lines (a running mean if a progress bar wrote it)"},
      {"step_avg:2105.0ms\n"
       "step_avg:290.0ms\n"
       "step_avg:94.5ms\n",
       "94.5 | the last of 3 values of \"step_avg\" in its lines, a running mean"},
      {"\"Step\",\"a run - step_time_ms\",\"a run - step_time_ms__MIN\",\"a run - "
       "step_time_ms__MAX\"\n"
       "\"1\",\"12.5\",\"1\",\"99\"\n",
       "12.5 | 1 value of column \"a run - step_time_ms\""},
      {"step;step_time_ms\n"
       "1;12,5\n"
       "2;1.213,5\n",
       "12.5 1213.5 | 2 values of column \"step_time_ms\""},
      {"step,mode,step_time_ms\n"
       "1,train,12.5\n"
       "2,val,99\n",
       "12.5 | 1 value of column \"step_time_ms\"; 1 line of an evaluation left out"},
      {"Epoch: [5][500/5005]\tTime  1.034 ( 2.526)\tData  0.586 ( 1.589)\n"
       "Test: [1/9]\tTime  9.0 ( 9.0)\n",
       "run:line 1: \"Time\" has no unit. State its unit, as in run:Time=s"},
      {"t,u\n"
       "3,4\n",
       "run: no column has the name of a step time; the columns are t, u. State which, with its "
       "unit, as FILE:COLUMN=UNIT"},
      {"t=3 u=4\n",
       "run: no step time was found in it. Expected a column or key of step times with a unit, "
       "such as step_time_ms. Lines may also have the form \"step_time=0.123 s\", \"123.4 "
       "ms/step\", \"5.67it/s\"; a trainer_state.json works too"},
      {"step_time_ms: 0.312s\n",
       "run:line 1: \"step_time_ms\" has one unit in its name and another after its numbers. If "
       "the one after the numbers is right: run:step_time_ms=s"},
      {"step time=3 ms\n",
       "3 | 1 value of \"step time\" in its lines | run: the numbers of \"step time\" have so few "
       "digits that a step may be 17 % off"},
      {"CurrSamplesPerSec=64.0\n"
       "CurrSamplesPerSec=64.0\n",
       "run: it states samples per second (CurrSamplesPerSec: 2 values, median 64) but no step "
       "time. Add --batch N, the samples per GPU in a step. Also write "
       "run:CurrSamplesPerSec=samples/s/gpu if they are per GPU, "
       "run:CurrSamplesPerSec=samples/s/8gpus if they are the total of 8 GPUs"},
      {"Epoch[0] Batch [20]\tSpeed: 64.0 samples/sec\n",
       "run: it states samples per second (Speed: 1 value, median 64) but no step time. Add "
       "--batch N, the samples per GPU in a step. Also write run:Speed=samples/s/gpu if they are "
       "per GPU, run:Speed=samples/s/8gpus if they are the total of 8 GPUs"},
      {"step: 10  loss: 7.9  tps: 5,800  mfu: 33.1%\n",
       "run: it states tokens per second (tps: 1 value, median 5800) but no step time. State the "
       "tokens of a step on the counted GPUs, for example 16384: run:tps=16384/step. --batch "
       "counts samples"},
      {"optimizer_step_time_ms=5 max_step_time_ms=900 p99_step_time_ms=4\n",
       "run: no step time was found in it. \"optimizer_step_time_ms\" may mean something else. If "
       "it is the step's time, state that: run:optimizer_step_time_ms"},
      {"dataloader time per step: 35 ms\n",
       "run: no step time was found in it. \"dataloader time per step\" may mean something else. "
       "If it is the step's time, state that: 'run:dataloader time per step'"},
      {"Generating samples: 10%|#| 1/10 [00:02<00:18,  2.10s/it]\n",
       "run: no step time was found in it. \"Generating samples it/s\" may mean something else. "
       "If it is the step's time, state that: 'run:Generating samples it/s'"},
      {"Epochs:  30%|#| 3/10 [05:00<11:40, 100.00s/it]\n",
       "run: no step time was found in it. \"Epochs it/s\" may mean something else. If it is the "
       "step's time, state that: 'run:Epochs it/s'"},
      {"iter 1 time 12 s\n"
       "iter 2 time 24 s\n"
       "iter 3 time 36 s\n",
       "run:line 1: \"time\" grows from line to line, so it is not a step's time, but the time "
       "since the beginning. If it is a step's time anyway: run:time"},
      {"step time: 12x\n",
       "run:line 1: \"step time\": \"x\" behind the number is not understood. Expected a number "
       "with its unit, such as \"step_time=0.123 s\""},
      {"step_time_s: 1,234\n",
       "run:line 1: \"step_time_s\": \"1,234\" may be thousands or decimals. Write its numbers "
       "without a comma"},
      {"step_time_ms: 12,5 loss: 3.25\n",
       "run:line 1: \"step_time_ms\": \"12,5\" may be two numbers, because others here have a "
       "decimal point. Expected a number with its unit, such as \"step_time=0.123 s\""},
      {"mode,step_time_ms\n"
       "ddp,10\n"
       "fsdp,12\n",
       "run: its steps have several settings (mode: ddp, fsdp). Give the steps of each setting in "
       "their own file"},
      {"Test: [1/9] step_time=9 ms\n",
       "run: \"step_time\" appears only in lines of an evaluation. Give the steps of training"},
      {"Epoch 0:  10%|#| 5/50 [00:10<01:30,  5.00it/s, train_step_timing in s=0.201]\n",
       "201 | 1 value of \"train_step_timing in s\" in its lines; not taken: it/s"},
      {"{}: {} step {} step_time_ms: {}\n",
       "run: column \"{}: {} step {} step_time_ms: {}\" is empty. Give another"},
      {"{\"global_step\": 500, \"log_history\": [\n"
       "    {\"epoch\": 0.5, \"grad_norm\": NaN, \"loss\": 1.5, \"step\": 250},\n"
       "    {\"epoch\": 1.0, \"step\": 500, \"total_flos\": 1.0, \"train_loss\": 1.2, "
       "\"train_runtime\": 62.5,\n"
       "     \"train_samples_per_second\": 64.0, \"train_steps_per_second\": 8.0}], \"max_steps\": "
       "500}",
       "125 | 1 value of train_runtime over 500 steps: their mean, with all evaluation, saving "
       "and startup; too short if the run was resumed"},
      {R"({"log_history": [{"train_runtime": 62.5}]})",
       "run: train_runtime comes without the step at which it ended. Expected {\"step\": 500, "
       "\"train_runtime\": 61.3} as transformers.Trainer writes it"},
      {R"({"global_step": 1, "log_history": [)",
       "run:line 1, column 35: not valid JSON: the text ends too early"},
      {R"({"loss": 2, "step": 250}, {"step": 500, "train_runtime": 62.5})",
       "run:line 1, column 25: not valid JSON: unexpected ','"},
      {"step,train/steps_per_sec\n"
       "1,4\n"
       "2,5\n",
       "250 200 | 2 values of column \"train/steps_per_sec\" | run: the numbers of "
       "\"train/steps_per_sec\" have so few digits that a step may be 10 % off"},
      {"it/s\n"
       "4\n",
       "250 | 1 value of column \"it/s\" (a running mean if a progress bar wrote it) | run: the "
       "numbers of \"it/s\" have so few digits that a step may be 12 % off"},
      {"s/it\n"
       "4\n",
       "4000 | 1 value of column \"s/it\" | run: the numbers of \"s/it\" have so few digits that "
       "a step may be 12 % off"},
      {"epoch,step,val_loss,batch_time_s\n"
       "0,9,,0.5\n"
       "0,9,1.25,\n"
       "0,19,,0.25\n",
       "500 250 | 2 values of column \"batch_time_s\"; 1 row is without one"},
      {" 10%|# | 50/500 [00:10<01:30,  5.00it/s]\r 20%|## | 100/500 [00:20<01:20,  1.25s/it]\n",
       "200 1250 | 2 values of \"it/s of 500\" in its lines (a running mean if a progress bar "
       "wrote it)"},
      {"step_time_ms\n"
       "900\n"
       "100\n"
       "101\n",
       "100 101 | 2 values of column \"step_time_ms\"; the first is left out as warm-up: over "
       "twice as long as every one of the second half"},
      {"step,step_time\n"
       "1,0.125\n",
       "run:line 2: \"0.125\" in column \"step_time\" has no unit. State its unit, as in "
       "run:step_time=s"},
      {"step_time_ms,iteration_us\n"
       "1,2\n",
       "run: 2 columns hold step times: step_time_ms, iteration_us. State which: run:step_time_ms"},
      {"step,loss\n"
       "1,2\n",
       "run: no column has the name of a step time; the columns are step, loss. State which, with "
       "its unit, as FILE:COLUMN=UNIT"},
      {"step_time_ms\n"
       "-3\n",
       "run:line 2: a step of -0.003 s. Expected a time above zero and below a day. Is the unit "
       "right?"},
      {"step_time_ms\n"
       "0\n",
       "run:line 2: a step of 0 s. Expected a time above zero and below a day. Is the unit right?"},
      {"step_time_ms\n"
       "1e12\n",
       "run:line 2: a step of 1e+09 s. Expected a time above zero and below a day. Is the unit "
       "right?"},
      {"it/s\n"
       "0\n",
       "run:line 2: a step of inf s. Expected a time above zero and below a day. Is the unit "
       "right?"},
      {"step_time_ms\n"
       "fast\n",
       "run:line 2: \"step_time_ms\": \"fast\" is not a time. Expected a number with its unit, "
       "such "
       "as \"step_time=0.123 s\""},
      {"step_time_ms\n"
       "1,2\n",
       "run:line 2: 2 cells under 1 names. Expected a table with commas between cells; quote a "
       "cell that contains one"},
      {"bucket_cap_mb,iteration_us\n"
       "25,100\n",
       "run:line 1: its rows are steps with several caps (bucket_cap_mb). Give the steps of one "
       "setting; `ddpsim validate` reads tables of caps"},
      {"step_time=1 s\n"
       "5 ms/step\n",
       "run: 2 keys hold step times: step_time, ms/step. State which: run:step_time"},
      {"step time: 1700000000.5 s\n"
       "step time: 1700000001.5 s\n",
       "run:line 1: \"step time\" is a clock: it holds instants counted from 1970, not durations. "
       "Give the times of steps"},
      {"step_time=0.1 s\n"
       "step_time=nan s\n"
       "step_time=0.1 s\n"
       "step_time=bad s\n",
       "100 100 | 2 values of \"step_time\" in its lines; line 2 has \"nan\" there, which is not "
       "a number, and so have 1 more | run: the numbers of \"step_time\" have so few digits that "
       "a step may be 50 % off"},
      {"step_time=0.9 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n",
       "100 100 100 100 100 100 100 | 7 values of \"step_time\" in its lines; the first is left "
       "out as warm-up: over twice as long as every one of the second half | run: the numbers of "
       "\"step_time\" have so few digits that a step may be 6 % off"},
      {"step_time=0 s\n"
       "step_time=0 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n",
       "100 100 | 2 values of \"step_time\" in its lines; the first 2 are left out: they are 0"},
      {"step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1 s\n"
       "step_time=0.2 s\n"
       "step_time=0.2 s\n"
       "step_time=0.2 s\n"
       "step_time=0.2 s\n"
       "step_time=0.2 s\n"
       "step_time=0.2 s\n",
       "run: has two kinds of steps: 6 of about 100 ms, then 6 of about 200 ms. Give training "
       "steps of one setting in their own file"},
      {"step_time=0.1 s\n"
       "step_time=0.2 s\n"
       "step_time=0.1 s\n"
       "step_time=0.2 s\n"
       "step_time=0.1 s\n"
       "step_time=0.2 s\n"
       "step_time=0.1 s\n"
       "step_time=0.2 s\n"
       "step_time=0.1 s\n"
       "step_time=0.2 s\n"
       "step_time=0.1 s\n"
       "step_time=0.2 s\n",
       "100 200 100 200 100 200 100 200 100 200 100 200 | 12 values of \"step_time\" in its lines "
       "| run: the numbers of \"step_time\" have so few digits that a step may be 25 % off"},
      {"step_time=0.1 s\n"
       "eval step_time=0.2 s\n"
       "step_time=0.1 s\n"
       "step_time=0.1",
       "100 100 | 2 values of \"step_time\" in its lines; its last line has no end and was left "
       "out | run: the numbers of \"step_time\" have so few digits that a step may be 50 % off"},
      {"samples/s: 1000\n"
       "samples/s: 1010\n",
       "run: it states samples per second (samples/s: 2 values, median 1000) but no step time. "
       "Add --batch N, the samples per GPU in a step. Also write run:samples/s=samples/s/gpu if "
       "they are per GPU, run:samples/s=samples/s/8gpus if they are the total of 8 GPUs"},
      {"tokens/s: 100000\n"
       "tokens/s: 101000\n",
       "run: it states tokens per second (tokens/s: 2 values, median 100000) but no step time. "
       "State the tokens of a step on the counted GPUs, for example 16384: "
       "run:tokens/s=16384/step. --batch counts samples"},
      {"samples/s/gpu: 100\n",
       "run: it states samples per second (samples/s/gpu: 1 value, median 100) but no step time. "
       "Add --batch N, the samples per GPU in a step"},
      {"a,b\n"
       "1,2\n",
       "run: no column has the name of a step time; the columns are a, b. State which, with its "
       "unit, as FILE:COLUMN=UNIT"},
      {"step_time_ms,step_time_s\n"
       "10,1\n"
       "10,1\n",
       "run: 2 columns hold step times: step_time_ms, step_time_s. State which: run:step_time_ms"},
      {R"({"step_time_ms": [10, 11]})", "10 11 | 2 values of key \"step_time_ms\""},
      {"step_time=0.3 s\n"
       "batch_time=0.1 s\n",
       "run: 2 keys hold step times: step_time, batch_time. State which: run:step_time"},
      {"step_time=0.1 s +- 0.01\n"
       "step_time=0.1 s +- 0.01\n",
       "100 | the last of 2 values of \"step_time\" in its lines, a running mean | run: the "
       "numbers of \"step_time\" have so few digits that a step may be 50 % off"},
      {"rank 0 step 1 step_time=0.1 s\n"
       "rank 1 step 1 step_time=0.2 s\n"
       "rank 0 step 2 step_time=0.1 s\n"
       "rank 1 step 2 step_time=0.3 s\n",
       "200 300 | 2 values of \"step_time\" in its lines, each step's slowest of 2 ranks | run: "
       "the numbers of \"step_time\" have so few digits that a step may be 17 % off"},
  };
  for (const StepText& record : records) {
    CAPTURE(record.text);
    CHECK(full_answer(record.text) == record.answer);
  }
}

TEST_CASE("step times: samples per millisecond are a thousand times as many per second") {
  const StepTimesAsked asked{.key = "", .unit = {}, .samples_per_gpu = 100, .gpus = 1};
  for (const char* text : {"samples_per_ms: 10\n", "samples/s: 10000\n"}) {
    CAPTURE(text);
    const MeasuredSteps steps = parse_step_times(text, "run", asked);
    REQUIRE(steps.steps.size() == 1);
    CHECK(steps.steps.front() == Duration::milliseconds(10));
  }
}

TEST_CASE("step times: lines of a stated warm-up are left out and counted") {
  const auto said = [](int warm_ups) {
    std::string text;
    for (int k = 0; k < warm_ups; ++k) text += "{\"warmup\": true, \"step_time_ms\": 50}\n";
    return full_answer(text + "{\"warmup\": false, \"step_time_ms\": 10}\n");
  };
  for (const char* phase : {"warmup", "warm-up", "Warm_up"})
    CHECK(full_answer(fmt::format("{{\"phase\": \"{}\", \"step_time_ms\": 50}}\n"
                                  "{{\"phase\": \"train\", \"step_time_ms\": 10}}\n",
                                  phase)) ==
          "10 | 1 value of \"step_time_ms\" in its lines; 1 line of a warm-up left out");
  CHECK(said(0) == "10 | 1 value of key \"step_time_ms\"");
  CHECK(said(1) == "10 | 1 value of \"step_time_ms\" in its lines; 1 line of a warm-up left out");
  CHECK(said(2) == "10 | 1 value of \"step_time_ms\" in its lines; 2 lines of a warm-up left out");
}

TEST_CASE("step times: batches per second of a device are steps if nothing else is named") {
  CHECK(full_answer("{\"throughput/device/batches_per_sec\": 0.5}\n") ==
        "2000 | 1 value of key \"throughput/device/batches_per_sec\"");
  CHECK(full_answer("{\"throughput/batches_per_sec\": 2.5, "
                    "\"throughput/device/batches_per_sec\": 0.5}\n") ==
        "run: 2 keys hold step times: throughput/batches_per_sec, "
        "throughput/device/batches_per_sec. State which: run:throughput/batches_per_sec");
}
