// Which step of a trace is used, and which parts are forward, backward, a gradient's time and the
// rest. Each rule of gradient_ready.hpp is tested, together with a similar trace to which it does
// not apply.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace ddpsim::literals;

namespace {

/// One step, a thousand microseconds after the last one, with a backward of the given length.
/// Forward runs on the GPU from 20 to 100. Backward runs from 120 on, with one gradient.
void add_step(TraceBuilder& trace, int number, double backward_us) {
  const double at = 1000.0 * number;
  trace.step(number, at, at + 900);
  trace.kernel(at + 10, at + 20, at + 100, TraceBuilder::kCaller);
  trace.node("MulBackward0", at + 110, at + 116);
  trace.kernel(at + 111, at + 120, at + 120 + backward_us);
  trace.gradient(at + 117, at + 118);
}

std::string chosen(const std::vector<double>& backward_us, const ImportOptions& options = {}) {
  TraceBuilder trace;
  for (std::size_t k = 0; k < backward_us.size(); ++k)
    add_step(trace, static_cast<int>(k), backward_us[k]);
  return trace.import(options).rank_trace->step;
}

/// One step with forward's kernel from 20 to 100. The caller adds backward.
TraceBuilder one_step() {
  TraceBuilder trace;
  trace.step(1, 0, 5000).kernel(10, 20, 100, TraceBuilder::kCaller);
  return trace;
}

std::vector<Duration> ready(const Imported& imported) {
  std::vector<Duration> times;
  for (const ReadyEvent& event : imported.workload.backward->ready) times.push_back(event.at);
  return times;
}

}  // namespace

TEST_CASE("step choice: the lower median of backward among steps with a successor") {
  CHECK(chosen({50}) == "ProfilerStep#0");
  CHECK(chosen({50, 40}) == "ProfilerStep#0");  // the last step has no known period
  CHECK(chosen({90, 50, 70}) == "ProfilerStep#1");
  CHECK(chosen({90, 50, 70, 60}) == "ProfilerStep#2");
  CHECK(chosen({90, 50, 70, 60, 80}) == "ProfilerStep#3");  // 50 60 | 70 90
  CHECK(chosen({90, 50, 70, 60, 80, 65}) == "ProfilerStep#2");
  CHECK(chosen({60, 60, 60}) == "ProfilerStep#0");  // equal values stay in order
}

TEST_CASE("step choice: by index among complete steps, or by name") {
  CHECK(chosen({90, 50, 70}, {.iteration = 0}) == "ProfilerStep#0");
  CHECK(chosen({90, 50, 70}, {.iteration = 2}) == "ProfilerStep#2");
  CHECK_THROWS_WITH_AS(chosen({90, 50, 70}, {.iteration = 3}),
                       doctest::Contains("Expected --iteration 0 to 2"), InputError);
  CHECK_THROWS_AS(chosen({90, 50, 70}, {.iteration = -1}), InputError);
  CHECK(chosen({90, 50, 70}, {.step = "ProfilerStep#1"}) == "ProfilerStep#1");
  CHECK(chosen({90, 50}, {.iteration = 0, .step = "ProfilerStep#1"}) == "ProfilerStep#1");
}

TEST_CASE("step choice: a step with fewer gradients than another is not complete") {
  TraceBuilder trace;
  add_step(trace, 0, 50);
  trace.gradient(119, 119.5);  // a second gradient, only in step 0
  add_step(trace, 1, 40);
  trace.step(2, 2000, 2900);  // an empty step
  const Imported imported = trace.import();
  CHECK(imported.rank_trace->step == "ProfilerStep#0");
  CHECK(mentions(imported.warnings, "2 of 3 steps are not complete and were left out"));
  CHECK(mentions(imported.recognised,
                 "1 complete iteration (ProfilerStep#0), its backward takes 0.050 ms"));
  // The period ends at the next step with work on the GPU, complete or not.
  CHECK(imported.workload.iteration == 1000_us);
}

TEST_CASE("step choice: the last step has no successor and so no period") {
  TraceBuilder trace;
  add_step(trace, 0, 50);
  add_step(trace, 1, 40);
  const Imported last = trace.import({.iteration = 1});
  CHECK_FALSE(last.workload.iteration.has_value());
  CHECK(mentions(last.warnings, "no step begins after ProfilerStep#1"));
  // Unless it is requested, another step is used, although its backward is longer.
  const Imported first = trace.import();
  CHECK(first.rank_trace->step == "ProfilerStep#0");
  CHECK(first.workload.iteration == 1000_us);
  CHECK_FALSE(mentions(first.warnings, "no step begins after"));
  CHECK(mentions(first.recognised,
                 "whose backward is the lower median of the 1 that another follows"));
}

TEST_CASE("step choice: micro-batches under no_sync are not complete steps") {
  // Two of three steps launch no all-reduce. Only the last of six has no successor.
  TraceBuilder trace;
  for (int k = 0; k < 6; ++k) {
    add_step(trace, k, k == 2 ? 90 : 50);
    if (k % 3 == 2) trace.all_reduce(1000.0 * k + 200, 1000.0 * k + 210, 1000.0 * k + 260);
  }
  const Imported imported = trace.import();
  CHECK(imported.rank_trace->step == "ProfilerStep#2");
  CHECK(mentions(imported.recognised,
                 "4 of 6 steps launch no all-reduce, so they ran under no_sync() as micro-batches. "
                 "A step has 3, and --accumulate is 3 by default"));
  CHECK(imported.workload.recorded_with.accumulate == 3);
  CHECK(mentions(imported.recognised, "of the 1 that end a step"));
  const Imported asked = trace.import({.iteration = 1});  // it is used on request
  CHECK(asked.rank_trace->step == "ProfilerStep#1");
  CHECK(mentions(asked.warnings, "is not the last micro-batch of its step"));
}

TEST_CASE("step choice: if no step all-reduces, none ran under no_sync") {
  TraceBuilder trace;
  add_step(trace, 0, 50);
  add_step(trace, 1, 50);
  CHECK_FALSE(mentions(trace.import().warnings, "no_sync"));
}

TEST_CASE("windows: forward from the first activity, backward from the autograd thread's first") {
  TraceBuilder trace = one_step();
  trace.kernel(12, 15, 30, TraceBuilder::kCaller);  // launched later, on the GPU earlier
  trace.node("A", 110, 130).kernel(111, 150, 170).kernel(112, 140, 160);
  trace.gradient(131, 132);
  trace.kernel(200, 300, 340, TraceBuilder::kCaller);  // the optimizer
  trace.kernel(201, 310, 320, TraceBuilder::kCaller);
  const Workload workload = trace.import().workload;
  CHECK(workload.forward == 125_us);            // 15 to 140
  CHECK(workload.backward->duration == 30_us);  // 140 to 170, whichever stream ends last
  CHECK(workload.optimizer == 170_us);          // 170 to 340
  CHECK(workload.backward->ready[0].at == 30_us);
}

TEST_CASE(
    "windows: an activity belongs to the step that holds its launch, including the step's start") {
  TraceBuilder trace;
  trace.step(1, 0, 500).step(2, 500, 1000);
  trace.node("A", 10, 20).kernel(11, 30, 60).gradient(21, 22);
  trace.node("A", 510, 520).kernel(511, 530, 580).gradient(521, 522);
  // belongs to step 1, although it runs in step 2
  trace.kernel(499.999, 700, 710, TraceBuilder::kCaller);
  trace.kernel(500, 505, 508, TraceBuilder::kCaller);
  const Workload first = trace.import({.iteration = 0}).workload;
  CHECK(first.optimizer == 650_us);                                 // 60 to 710
  CHECK(first.iteration == 475_us);                                 // 30 to 505
  CHECK(trace.import({.iteration = 1}).workload.forward == 25_us);  // 505 to 530
}

TEST_CASE("gradient: ready when the last activity launched before its end has ended") {
  TraceBuilder trace = one_step();
  trace.node("A", 110, 120).kernel(111, 150, 200);
  trace.gradient(121, 125);
  trace.kernel(125, 200, 230);  // launched when it ends, so not before
  trace.gradient(126, 130);
  trace.node("B", 140, 150).kernel(141, 230, 260);
  CHECK(ready(trace.import()) == std::vector<Duration>{50_us, 80_us});
}

TEST_CASE("gradient: with several streams the latest end so far counts, not the latest launch") {
  TraceBuilder trace = one_step();
  trace.node("A", 110, 120).kernel(111, 150, 300).kernel(112, 160, 170);
  trace.gradient(121, 122);
  trace.node("B", 123, 130).kernel(124, 310, 320).gradient(131, 132);
  CHECK(ready(trace.import()) == std::vector<Duration>{150_us, 170_us});
}

TEST_CASE("gradient: if nothing was launched before, it is ready when backward starts") {
  TraceBuilder trace = one_step();
  trace.gradient(105, 106);
  trace.node("A", 110, 120).kernel(111, 150, 200).gradient(121, 122);
  const Imported imported = trace.import();
  CHECK(ready(imported) == std::vector<Duration>{Duration(), 50_us});
  CHECK(imported.workload.host_ready == std::vector<Duration>{-44_us, -28_us});
}

TEST_CASE("gradient: the copy into the bucket ends with the launches of the outer event") {
  TraceBuilder trace = one_step();
  trace.ddp();
  trace.node("A", 110, 120).kernel(111, 150, 200);
  trace.hooks(121, 140).gradient(122, 125).kernel(130, 200, 210);
  trace.gradient(150, 152);  // outside any outer event
  const auto events = trace.import().workload.backward->ready;
  CHECK(events[0].at == 50_us);
  CHECK(events[0].copied_at == 60_us);
  CHECK(events[1].at == 60_us);
  CHECK_FALSE(events[1].copied_at.has_value());
}

TEST_CASE("gradient: an outer event encloses it on its own thread, to the last nanosecond") {
  const auto copied = [](double outer_end, int outer_thread) {
    TraceBuilder trace = one_step();
    trace.ddp();
    trace.node("A", 110, 120).kernel(111, 150, 200);
    trace.hooks(121, outer_end, outer_thread).gradient(122, 125).kernel(124.5, 200, 210);
    trace.node("B", 160, 170, 3);
    return trace.import().workload.backward->ready[0].copied_at.has_value();
  };
  CHECK(copied(125, TraceBuilder::kAutograd));
  CHECK_FALSE(copied(124.999, TraceBuilder::kAutograd));
  CHECK_FALSE(copied(130, 3));
}

TEST_CASE("gradient: without DDP's hooks in the recording, no copy is reported") {
  TraceBuilder trace = one_step();
  trace.node("A", 110, 120).kernel(111, 150, 200);
  trace.hooks(121, 140).gradient(122, 125).kernel(130, 200, 210);
  const Workload workload = trace.import().workload;
  CHECK_FALSE(workload.recorded_with.ddp_hooks);
  CHECK_FALSE(workload.backward->ready[0].copied_at.has_value());
}

TEST_CASE("gradient: nodes of the calling thread count only if no other thread runs nodes") {
  const auto backward = [](bool other_thread) {
    TraceBuilder trace = one_step();
    trace.node("A", 110, 120, TraceBuilder::kCaller);
    trace.kernel(111, 150, 200, TraceBuilder::kCaller);
    trace.gradient(121, 122, TraceBuilder::kCaller);
    if (other_thread) trace.node("B", 123, 130).kernel(124, 210, 250);
    return trace.import().workload;
  };
  // everything the thread launched, 20 to 200
  CHECK(backward(false).backward->duration == 180_us);
  CHECK(backward(false).forward == Duration());
  CHECK(backward(true).backward->duration == 40_us);
  CHECK(backward(true).forward == 190_us);  // the caller's kernels belong to forward
}

TEST_CASE("gradient: with several autograd threads, none is ready before the previous one") {
  TraceBuilder trace = one_step();
  trace.node("A", 110, 120).kernel(111, 150, 300).node("B", 112, 114, 3);
  trace.gradient(121, 125).gradient(122, 123, 3).kernel(124, 310, 400);
  // The second gradient ends at 123, before the launch of the kernel that the first one waits for.
  CHECK(ready(trace.import()) == std::vector<Duration>{250_us, 250_us});
}

TEST_CASE("backward ends with the last launch before the last node's end, and copies out follow") {
  TraceBuilder trace = one_step();
  trace.ddp();
  trace.node("A", 110, 120).kernel(111, 150, 200);
  trace.hooks(121, 130).gradient(122, 123).all_reduce(125, 205, 260);
  trace.kernel(131, 260, 275);                         // after the last node: a copy out
  trace.kernel(140, 275, 300, TraceBuilder::kCaller);  // optimizer
  const Workload workload = trace.import().workload;
  CHECK(workload.backward->duration == 50_us);
  CHECK(workload.recorded_with.exposed == 60_us);   // 200 to 260
  CHECK(workload.recorded_with.finalize == 15_us);  // 260 to 275
  CHECK(workload.optimizer == 25_us);
}

TEST_CASE("after backward: without copies out the tail is not counted twice") {
  TraceBuilder trace = one_step();
  trace.ddp();
  trace.node("A", 110, 120).kernel(111, 150, 200);
  trace.hooks(121, 130).gradient(122, 123).all_reduce(125, 205, 260);
  trace.kernel(140, 260, 300, TraceBuilder::kCaller);
  const Imported imported = trace.import();
  CHECK(imported.workload.recorded_with.exposed == 60_us);
  CHECK(imported.workload.recorded_with.finalize == Duration());
  CHECK(imported.workload.optimizer == 40_us);  // 260 to 300, not 200 to 300
  CHECK(mentions(imported.warnings, "no copies out of the buckets follow the last all-reduce"));
}

TEST_CASE(
    "after backward: an all-reduce that ended during backward leaves no tail and no warning") {
  TraceBuilder trace = one_step();
  trace.ddp();
  trace.node("A", 110, 120).kernel(111, 150, 200);
  trace.hooks(121, 130).gradient(122, 123).all_reduce(125, 160, 190);
  trace.kernel(140, 210, 240, TraceBuilder::kCaller);
  const Imported imported = trace.import();
  CHECK(imported.workload.recorded_with.exposed == Duration());
  CHECK(imported.workload.recorded_with.finalize == Duration());
  CHECK(imported.workload.optimizer == 40_us);
  CHECK_FALSE(mentions(imported.warnings, "no copies out"));
}

TEST_CASE("after backward: without DDP, there is no tail and no finalize") {
  TraceBuilder trace = one_step();
  trace.node("A", 110, 120).kernel(111, 150, 200).gradient(121, 122);
  trace.kernel(140, 210, 240, TraceBuilder::kCaller);
  const RecordedWith recorded = trace.import().workload.recorded_with;
  CHECK_FALSE(recorded.exposed.has_value());
  CHECK_FALSE(recorded.finalize.has_value());
  CHECK_FALSE(recorded.buffer_broadcast.has_value());
  CHECK(recorded.nccl_kernels == 0);
  CHECK(recorded.collectives.empty());
}

TEST_CASE("idle: shares of forward and backward, and launch-bound above three tenths") {
  // Forward lasts from 20 to 150 and is busy for 80 of 130 us. Backward lasts 100 us and is busy
  // from 150 on, and again at its end.
  const auto told = [](double busy_us) {
    TraceBuilder trace = one_step();
    trace.node("A", 110, 130).kernel(111, 150, 150 + busy_us).kernel(112, 249, 250);
    return trace.gradient(131, 132).import().recognised;
  };
  CHECK(mentions(told(69.1), "the GPU was idle in 38.5 % of forward and 29.9 % of backward"));
  CHECK_FALSE(mentions(told(69.1), "launch-bound"));
  CHECK(mentions(told(68), "31.0 % of backward"));
  CHECK(mentions(told(68), "launch-bound"));
}

TEST_CASE("clocks: too many activities before their launch are reported") {
  const auto told = [](int early, double by_us) {
    TraceBuilder trace = one_step();
    trace.node("A", 110, 130).kernel(111, 150, 200).gradient(131, 132);
    for (int k = 0; k < 8; ++k) {
      const double at = 200 + 10 * k;
      trace.kernel(at, k < early ? at - by_us : at + 1, at + 2, TraceBuilder::kCaller);
    }
    return mentions(trace.import().warnings, "start before the host launched them");
  };
  CHECK_FALSE(told(1, 5));  // one of ten
  CHECK(told(2, 5));
  CHECK_FALSE(told(2, 1));  // timestamps may be whole microseconds
  CHECK(told(2, 1.001));
}

TEST_CASE("launches: a graph launch runs many activities, any other launch one") {
  TraceBuilder trace = one_step();
  trace.node("A", 110, 130);
  trace.span("cuda_runtime", "cudaGraphLaunch", 2, 111, 112, R"("correlation":900)");
  for (const double from : {150.0, 170.0, 190.0})
    trace.span("kernel", "k", 7, from, from + 15, R"("correlation":900)");
  trace.gradient(131, 132);
  const Imported graph = trace.import();
  CHECK(graph.workload.backward->duration == 55_us);
  CHECK_FALSE(mentions(graph.warnings, "have no recorded launch"));
  trace.span("cuda_runtime", "cudaLaunchKernel", 2, 113, 114, R"("correlation":901)");
  trace.span("kernel", "k", 7, 210, 220, R"("correlation":901)");
  trace.span("kernel", "k", 7, 230, 240, R"("correlation":901)");
  trace.span("kernel", "k", 7, 250, 260);
  const Imported lone = trace.import();
  CHECK(lone.workload.backward->duration == 70_us);  // to 220
  CHECK(mentions(lone.warnings, "2 of 7 GPU activities have no recorded launch"));
}

TEST_CASE("launches: spans of seconds and late starts are kept in microseconds") {
  TraceBuilder trace;
  trace.step(1, 0, 20e6).node("A", 10, 5e6 + 10).kernel(11, 3e6 + 20, 8e6 + 20);
  trace.gradient(5e6 + 20, 5e6 + 30);
  const Workload workload = trace.import().workload;
  CHECK(workload.backward->duration == Duration::seconds(5));
  CHECK(workload.forward == Duration());
  CHECK(workload.host_ready[0] == Duration::microseconds(2e6 + 10));
}

TEST_CASE("compacted: gaps vanish, and overlap of two streams stays") {
  TraceBuilder trace = one_step();  // busy 20 to 100
  trace.ddp();
  trace.node("A", 110, 120).kernel(111, 150, 200).kernel(112, 180, 220);
  trace.hooks(121, 130).gradient(122, 123).kernel(126, 300, 310);
  trace.hooks(131, 140).gradient(132, 133).all_reduce(135, 310, 400);
  trace.kernel(150, 400, 404).kernel(160, 500, 530, TraceBuilder::kCaller);
  const Workload workload = trace.import({.timing = Timing::compacted}).workload;
  CHECK(workload.forward == 80_us);
  CHECK(workload.backward->duration == 80_us);  // 70 and 10
  CHECK(workload.backward->ready[0].at == 70_us);
  CHECK(workload.backward->ready[0].copied_at == 80_us);
  CHECK(workload.recorded_with.finalize == 4_us);
  CHECK(workload.optimizer == 30_us);
  CHECK(workload.host_ready.empty());
  CHECK(workload.recorded_with.nccl_kernels == 1);
  CHECK(workload.recorded_with.collectives.empty());
  CHECK_FALSE(workload.recorded_with.exposed.has_value());
}
