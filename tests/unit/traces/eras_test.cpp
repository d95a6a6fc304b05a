// Traces in the formats of different years and vendors, made from one small step. The first test of
// traces/profiler_trace_test.cpp lists the times of that step.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/sim/collectives/collective_model.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/profiler_trace.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "mentions.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace ddpsim::literals;

namespace {

/// The small trace with some texts replaced.
std::string tiny_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string text = tiny_trace();
  for (const auto& [what, by] : changes) {
    REQUIRE(text.find(what) != std::string::npos);
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size())) {
      text.replace(at, what.size(), by);
    }
  }
  return text;
}

Imported imported_era(const std::string& text, const ImportOptions& options = {}) {
  std::size_t at = 0;
  return import_profiler_trace(
      [&](char* buffer, std::size_t capacity) {
        const std::size_t count = std::min(capacity, text.size() - at);
        std::memcpy(buffer, text.data() + at, count);
        at += count;
        return count;
      },
      "t.json", options);
}

std::vector<Duration> ready_times(const Workload& workload) {
  std::vector<Duration> times;
  for (const ReadyEvent& event : workload.backward->ready) times.push_back(event.at);
  return times;
}

const std::vector<Duration> kReady = {50_us, 155_us, 160_us};

}  // namespace

TEST_CASE(
    "eras: categories with capitals, threads as strings and nodes without evaluate_function") {
  const Workload workload =
      imported_era(tiny_with({{"\"cpu_op\"", "\"Operator\""},
                              {"\"user_annotation\"", "\"Operator\""},
                              {"\"kernel\"", "\"Kernel\""},
                              {"\"gpu_memcpy\"", "\"Memcpy\""},
                              {"\"cuda_runtime\"", "\"Runtime\""},
                              {"\"tid\": 1,", "\"tid\": \"25738\","},
                              {"\"tid\": 2,", "\"tid\": \"25772\","},
                              {"autograd::engine::evaluate_function: torch", "hidden::torch"},
                              {"autograd::engine::evaluate_function: ", ""},
                              {"Backward0", "Backward"}}))
          .workload;
  CHECK(ready_times(workload) == kReady);
  CHECK(workload.forward == 128_us);
  CHECK(workload.backward->duration == 160_us);  // the last copy cannot be recognised
  CHECK_FALSE(workload.backward->ready[0].copied_at.has_value());
}

TEST_CASE("eras: HIP's launches, RCCL's kernels and a kernel name without the operation") {
  const std::string text = tiny_with(
      {{"cuda_runtime", "hip_runtime"},
       {"\"cudaLaunchKernel\"", "\"hipExtModuleLaunchKernel\""},
       {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
        "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"},
       {"\"correlation\": 8, \"Collective name\": \"allreduce\",", "\"correlation\": 8,"}});
  const Imported result = imported_era(text);
  CHECK(ready_times(result.workload) == kReady);
  REQUIRE(result.workload.recorded_with.collectives.size() == 1);
  CHECK(result.workload.recorded_with.collectives[0].duration == 60_us);
}

TEST_CASE("eras: copies with aten::mul count as hooks if DDP's forward is recorded") {
  const std::string text =
      tiny_with({{"torch::distributed::reducer::mul_out", "aten::mul"},
                 {"torch.distributed.ddp.reducer::copy_bucket_to_grad", "aten::copy_"},
                 {"\"made_by\"", "\"traceName\""}});
  CHECK_FALSE(imported_era(text).workload.recorded_with.ddp_hooks);
  const std::string forward =
      R"({"ph": "X", "cat": "user_annotation", "name": "DistributedDataParallel.forward", "tid": 1,
          "ts": 1712195495500010, "dur": 50},)";
  std::string with_forward = text;
  const std::string list = "\"traceEvents\": [";
  with_forward.insert(with_forward.find(list) + list.size(), forward);
  const Workload workload = imported_era(with_forward).workload;
  CHECK(workload.recorded_with.ddp_hooks);
  CHECK(workload.backward->ready[0].copied_at == 55_us);
}

TEST_CASE("eras: without markers, optimizers divide steps, or otherwise backward passes") {
  std::string text = tiny_with({{"ProfilerStep#", "note "}});
  const Imported whole = imported_era(text);
  CHECK(mentions(whole.warnings, "the whole trace is used as one step"));
  CHECK(
      mentions(whole.recognised, "one step of the trace holds 2 backward passes, so it was split"));
  CHECK(mentions(whole.warnings, "pass --accumulate 2"));
  CHECK(whole.rank_trace->step == "the whole trace (1 of 2)");
  CHECK(ready_times(whole.workload) == kReady);

  const auto optimizer = [](std::int64_t at) {
    return "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"Optimizer.step#SGD.step\", "
           "\"tid\": 1, \"ts\": " +
           std::to_string(1712195495500000 + at) + ", \"dur\": 10},";
  };
  const std::string list = "\"traceEvents\": [";
  // Two optimizers run before the first step, and one in each step. The second step begins where
  // the first one ends.
  text.insert(text.find(list) + list.size(),
              optimizer(-50) + optimizer(-20) + optimizer(260) + optimizer(1260));
  const Imported divided = imported_era(text);
  CHECK(mentions(divided.recognised, "2 complete iterations (step 0 to step 1)"));
  CHECK(ready_times(divided.workload) == kReady);
  CHECK(divided.workload.iteration == 1000_us);
}

TEST_CASE("eras: gradients on the CPU do not change the windows") {
  const std::string node =
      R"({"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "tid": 1,
          "ts": 1712195495500400, "dur": 5},
         {"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "tid": 1,
          "ts": 1712195495501400, "dur": 5},)";
  std::string text = tiny_trace();
  const std::string list = "\"traceEvents\": [";
  text.insert(text.find(list) + list.size(), node);
  const Workload workload = imported_era(text).workload;
  CHECK(workload.backward->ready.size() == 4);
  CHECK(workload.forward == 128_us);
  CHECK(workload.backward->duration == 165_us);
  CHECK(workload.backward->ready.back().at <= workload.backward->duration);
}

TEST_CASE("eras: an all-reduce inside a node belongs to that node, not to the reducer") {
  const std::string inside =
      R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 2,
          "ts": 1712195495500110, "dur": 2, "args": {"correlation": 99}},
         {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce_RING_LL", "tid": 7,
          "ts": 1712195495500141, "dur": 2, "args": {"correlation": 99, "dtype": "Float",
          "In msg nelems": 8}},)";
  std::string text = tiny_trace();
  const std::string list = "\"traceEvents\": [";
  text.insert(text.find(list) + list.size(), inside);
  const Imported result = imported_era(text);
  CHECK(result.workload.recorded_with.collectives.size() == 1);
  CHECK(result.workload.recorded_with.nccl_kernels == 3);
  CHECK(mentions(result.warnings, "1 all-reduces inside autograd nodes"));
}

TEST_CASE("eras: recorded shapes and types give the parameters, except for a missing tensor") {
  std::string text = tiny_trace();
  const std::vector<std::string> inputs = {R"("Input Dims": [[3]], "Input type": ["float"])",
                                           R"("Input Dims": [[]], "Input type": [""])",
                                           R"("Input Dims": [[9, 3]], "Input type": ["float"])"};
  std::size_t at = 0;
  for (std::size_t k = 0; k < 6; ++k) {
    at = text.find("\"torch::autograd::AccumulateGrad\"", at + 1);
    REQUIRE(at != std::string::npos);
    text.insert(text.find('}', at), ", \"args\": {" + inputs[k % 3] + "}");
  }
  const Imported result = imported_era(text);
  const std::vector<Parameter>& parameters = result.workload.parameters;
  REQUIRE(parameters.size() == 3);
  CHECK(parameters[2].shape == std::vector<std::int64_t>{3});
  CHECK(parameters[1].ignored);
  CHECK_FALSE(parameters[1].shape.has_value());
  CHECK(parameters[0].shape == std::vector<std::int64_t>{9, 3});  // 12 + 108 bytes fill the bucket
  CHECK_FALSE(parameters[0].ignored);
  CHECK(mentions(result.recognised, "1 of 3 gradients are outside DDP"));
  CHECK(mentions(result.warnings, "no bundled model has these 3 shapes"));
  CHECK(format_workload(parse_workload(format_workload(result.workload), "again")) ==
        format_workload(result.workload));
}

TEST_CASE("eras: invalid escapes, raw control characters and invalid UTF-8 are tolerated") {
  const std::string expected = format_workload(imported_era(tiny_trace()).workload);
  CHECK(format_workload(
            imported_era(tiny_with({{"elementwise", "C:\\Users\\x\\qelementwise"}})).workload) ==
        expected);
  for (const char* noise : {"\t\n", "\xff\xfe", "\xc3(", "\x01\x1f"}) {
    const Imported result =
        imported_era(tiny_with({{"elementwise", std::string("elementwise") + noise}}));
    CHECK(format_workload(result.workload) == expected);
    CHECK(mentions(result.warnings, "not valid JSON strings"));
  }
}

TEST_CASE("eras: a compiled backward is imported with a mark that the workload file keeps") {
  const Imported result = imported_era(tiny_with({{"AddmmBackward0", "CompiledFunctionBackward"}}));
  CHECK(result.workload.recorded_with.compiled_gradients == 1);  // the convolution is not compiled
  CHECK(mentions(result.recognised, "compiled backward: 1 of 3 gradients"));
  const std::string text = format_workload(result.workload);
  CHECK(text.find("\"compiled_gradients\": 1") != std::string::npos);
  CHECK(parse_workload(text, "again").recorded_with.compiled_gradients == 1);
  CHECK(format_workload(imported_era(tiny_trace()).workload).find("compiled") == std::string::npos);
}

TEST_CASE("compacted timing: windows hold only the GPU's work, in the recorded order") {
  // The second kernel of backward and those after it come 40 us later, so the GPU waits.
  std::string text = tiny_trace();
  for (const char* at :
       {"\"ts\": 1712195495500195", "\"ts\": 1712195495500295", "\"ts\": 1712195495500300",
        "\"ts\": 1712195495500306", "\"ts\": 1712195495500366", "\"ts\": 1712195495500372"}) {
    REQUIRE(text.find(at) != std::string::npos);
    const std::string later = "\"ts\": " + std::to_string(std::stoll(std::string(at + 6)) + 40);
    for (std::size_t place = text.find(at); place != std::string::npos; place = text.find(at)) {
      text.replace(place, std::strlen(at), later);
    }
  }
  ImportOptions options;
  options.iteration = 0;
  const Imported recorded = imported_era(text, options);
  options.timing = Timing::compacted;
  const Imported result = imported_era(text, options);
  const Workload& workload = result.workload;
  CHECK(recorded.workload.backward->duration == 205_us);
  CHECK(workload.backward->duration == 165_us);
  CHECK(ready_times(workload) == kReady);
  CHECK(workload.backward->ready[2].copied_at == 165_us);
  CHECK(workload.forward == 100_us);  // without the broadcast and the gaps around it
  CHECK(workload.optimizer == 18_us);
  CHECK(workload.recorded_with.finalize == 4_us);
  CHECK(workload.recorded_with.collectives.empty());
  CHECK_FALSE(workload.recorded_with.exposed.has_value());
  CHECK_FALSE(workload.recorded_with.buffer_broadcast.has_value());
  CHECK_FALSE(workload.iteration.has_value());
  CHECK(workload.host_ready.empty());
  CHECK(mentions(recorded.recognised,
                 "the GPU was idle in 21.9 % of forward and 19.5 % of backward"));
}

TEST_CASE("eras: one V100 without DDP predicts the buckets of another under DDP") {
  const std::filesystem::path folder = files::shared_file("data/traces");
  if (!std::filesystem::exists(folder / "index.json")) {
    MESSAGE("skipped: the open traces are not beside this checkout");
    return;
  }
  const Workload plain = import_file(folder / "r50-1xV100-nw0.json.gz", {}).workload;
  const Imported truth = import_file(folder / "r50-ddp-1xV100-rank0.json.gz", {});
  const Cluster cluster = load_cluster({.text = "node:1 gpu:1xV100"});
  SimulationOptions options;
  const CollectiveModel model = AnalyticModel{.tuning = {.nccl = bundled_nccl(options.torch)}};
  REQUIRE_FALSE(cannot_simulate(Job(plain, cluster, options, FreeModel{})));
  const SimulationResult result = simulate(Job(plain, cluster, options, model));
  REQUIRE(result.step.buckets.size() == truth.bucket_bytes.size());

  const std::vector<ReadyEvent>& recorded = truth.workload.backward->ready;
  std::size_t next = 0;
  double worst_ms = 0;
  double trivial_ms = 0;  // baseline: readiness proportional to bytes
  Bytes so_far;
  const Bytes all = Bytes(102'228'128);
  for (std::size_t b = 0; b < truth.bucket_bytes.size(); ++b) {
    CAPTURE(b);
    const BucketResult& bucket = result.step.buckets[b];
    CHECK(bucket.bucket.bytes == truth.bucket_bytes[b]);
    Bytes held;
    Duration at;
    while (held < truth.bucket_bytes[b]) {
      held += *gradient_bytes(truth.workload.parameters[recorded[next].parameter]);
      at = recorded[next++].at;
    }
    so_far += held;
    const double predicted =
        bucket.ready.since_start().milliseconds() - result.step.times.forward.milliseconds();
    const double proportional = plain.backward->duration.milliseconds() *
                                static_cast<double>(so_far.count()) /
                                static_cast<double>(all.count());
    CHECK(std::abs(predicted - at.milliseconds()) <= 4);
    worst_ms = std::max(worst_ms, std::abs(predicted - at.milliseconds()));
    trivial_ms = std::max(trivial_ms, std::abs(proportional - at.milliseconds()));
  }
  MESSAGE("bucket ready: worst " << worst_ms << " ms; proportional to bytes: " << trivial_ms
                                 << " ms");
}
