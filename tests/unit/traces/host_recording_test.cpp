// The host's part of a trace: its launches, their cost, and who waited for whom.
#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using files::TraceBuilder;

namespace {

/// us   10  40   60-90       110      150        200 230 260
///      forward  synchronise backward            optimizer
TraceBuilder late_host() {
  TraceBuilder trace;
  trace.step(1, 0, 1000).step(2, 1000, 2000);
  trace.kernel(10, 20, 30, TraceBuilder::kCaller).kernel(40, 50, 60, TraceBuilder::kCaller);
  trace.span("cuda_runtime", "cudaStreamSynchronize", TraceBuilder::kCaller, 60, 90);
  trace.node("A", 105, 160).kernel(110, 120, 130);
  trace.gradient(115, 118).kernel(150, 152, 162).gradient(155, 158);
  for (const double at : {200, 230, 260}) trace.kernel(at, at + 5, at + 10, TraceBuilder::kCaller);
  trace.kernel(1010, 1020, 1030, TraceBuilder::kCaller);
  return trace;
}

}  // namespace

TEST_CASE("host: launches of each part and the cost of one") {
  const Workload workload = late_host().import().workload;
  REQUIRE(workload.launches);
  CHECK(workload.launches->forward == 2);
  CHECK(workload.launches->backward == std::vector<std::int64_t>{1, 1});
  CHECK(workload.launches->optimizer == 3);
  REQUIRE(workload.launches->cost);
  CHECK(workload.launches->cost->forward == 35_us);    // 10 to 110, minus 30 us, two kernels
  CHECK(workload.launches->cost->backward == 40_us);   // 110 to 150
  CHECK(workload.launches->cost->optimizer == 30_us);  // 200 to 260
}

TEST_CASE("host: the GPU waits until the next kernel begins or a launch could have reached it") {
  const PartTimes waits = late_host().import().workload.launch_waits;
  CHECK(waits.forward == 20_us + 60_us);  // 30 to 50, 60 to 120
  CHECK(waits.backward == 22_us);         // 130 to 152
  // From 162 to 205, from 210 to 235, and from 240 to 265.
  CHECK(waits.optimizer == 43_us + 25_us + 25_us);
  // Launched at 110, it would have run from 122 on.
  TraceBuilder trace;
  trace.step(1, 0, 1000).kernel(10, 20, 100, TraceBuilder::kCaller);
  trace.node("A", 105, 120).kernel(110, 150, 160).gradient(115, 118);
  CHECK(trace.import().workload.launch_waits.forward == 22_us);
  // A kernel launched before the last one had ended waits for no launch.
  trace.kernel(130, 190, 200, TraceBuilder::kCaller).kernel(131, 230, 240, TraceBuilder::kCaller);
  CHECK(trace.import().workload.launch_waits.optimizer == 0_us);
}

TEST_CASE("host: the time the GPU held up the host, by gradient") {
  CHECK(late_host().import().workload.host_held == std::vector<Duration>{30_us, 30_us});
  TraceBuilder trace = late_host();
  const auto launch = [&](double length) {
    TraceBuilder longer = trace;
    longer.span("cuda_runtime", "cudaLaunchKernel", TraceBuilder::kAutograd, 90, 90 + length,
                R"("correlation":99)");
    return longer.import().workload;
  };
  // A full queue holds up a launch. Only the 12 us of it within backward on the host count here.
  trace.span("cuda_runtime", "cudaMemcpyAsync", TraceBuilder::kAutograd, 119, 169);
  CHECK(trace.import().workload.host_held == std::vector<Duration>{30_us, 30_us + 39_us});
  trace = late_host();
  CHECK(launch(49).host_held == std::vector<Duration>{30_us, 30_us});
  CHECK(launch(50).host_held == std::vector<Duration>{30_us + 8_us, 30_us + 30_us});
  CHECK(launch(50).launches->cost->backward == 10_us);  // 30 of the 40 us
}

TEST_CASE("host: fetching a batch is no launching") {
  TraceBuilder trace = late_host();
  trace.span("user_annotation", "enumerate(DataLoader)#_Iter.__next__", TraceBuilder::kCaller, 50,
             70);
  // Until 90 together with the call that synchronises.
  CHECK(trace.import().workload.launches->cost->forward == 30_us);
  CHECK(trace.import().workload.host_held == std::vector<Duration>{30_us, 30_us});
}

TEST_CASE("host: what the trainer waited for its DataLoader is kept") {
  CHECK_FALSE(late_host().import().workload.data_loading);
  TraceBuilder trace = late_host();
  const auto fetch = [&](const char* iterator, double from, double to) {
    trace.span("user_annotation", std::string("enumerate(DataLoader)#") + iterator + ".__next__",
               TraceBuilder::kCaller, from, to);
  };
  fetch("_MultiProcessingDataLoaderIter", 50, 52);
  fetch("_MultiProcessingDataLoaderIter", 60, 64);
  fetch("_MultiProcessingDataLoaderIter", 70, 80);
  const DataLoading waits = trace.import().workload.data_loading.value();
  CHECK(waits.median == 4_us);
  CHECK(waits.p90 == 10_us);
  CHECK(waits.mean == 7_us);
  CHECK(waits.count == 3);
  CHECK(waits.processes);
  // at most 1 % of the step: the loader keeps up
  CHECK_FALSE(waits.interval);
  ImportOptions compacted;
  compacted.timing = Timing::compacted;
  CHECK(trace.import(compacted).workload.data_loading->median == 4_us);
  CHECK_FALSE(trace.import(compacted).workload.iteration);
  TraceBuilder slow = trace;
  slow.span("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            TraceBuilder::kCaller, 300, 350);
  const Workload paced = slow.import().workload;
  REQUIRE(paced.iteration);
  CHECK(paced.data_loading->interval == paced.iteration);
  const Workload windows = slow.import(compacted).workload;
  CHECK(windows.data_loading->interval == paced.iteration);
  REQUIRE(windows.iteration);
  CHECK(waited_for_data(windows) == *stall(windows));  // nothing else is between steps
  TraceBuilder alone = late_host();
  alone.span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
             TraceBuilder::kCaller, 50, 70);
  CHECK_FALSE(alone.import().workload.data_loading->processes);
}

TEST_CASE("host: DDP's own launches and the time of its hooks are left out") {
  TraceBuilder trace;
  trace.step(1, 0, 1000).kernel(10, 20, 30, TraceBuilder::kCaller).ddp();
  trace.node("A", 100, 112).kernel(101, 120, 130).kernel(110, 131, 140);
  trace.hooks(113, 130).gradient(113, 115).kernel(120, 140, 150);
  trace.all_reduce(125, 150, 190);
  trace.node("B", 131, 136).kernel(131, 151, 160).kernel(141, 161, 170);
  trace.hooks(142, 160).gradient(142, 145).kernel(150, 170, 180);
  trace.kernel(200, 205, 210);  // a copy out of the bucket
  trace.kernel(300, 305, 310, TraceBuilder::kCaller);
  const Workload workload = trace.import().workload;
  CHECK(workload.launches->backward == std::vector<std::int64_t>{2, 2});
  CHECK(workload.launches->optimizer == 1);
  // 101 to 141 minus the hooks' 115 to 130, divided by three.
  CHECK(workload.launches->cost->backward == Duration::picoseconds(8'333'000));
}

TEST_CASE("host: a graph counts as one launch") {
  TraceBuilder trace;
  trace.step(1, 0, 1000)
      .span("cuda_runtime", "cudaGraphLaunch", TraceBuilder::kCaller, 10, 80,
            R"("correlation":77)");
  for (const double at : {20, 30, 40})
    trace.span("kernel", "k", 7, at, at + 9, R"("correlation":77)");
  trace.node("A", 105, 120).kernel(110, 150, 160).gradient(115, 118);
  const Workload workload = trace.import().workload;
  CHECK(workload.launches->forward == 1);
  CHECK(workload.host_held.empty());
}

TEST_CASE("host: compacted times keep the counts but no waits and no launch cost") {
  ImportOptions options;
  options.timing = Timing::compacted;
  const Workload workload = late_host().import(options).workload;
  REQUIRE(workload.launches);
  CHECK(workload.launches->forward == 2);
  CHECK(workload.launches->of_backward() == 2);
  CHECK(workload.launches->optimizer == 3);
  CHECK_FALSE(workload.launches->cost);
  CHECK(workload.launch_waits == PartTimes());
  CHECK(workload.host_held.empty());
}
