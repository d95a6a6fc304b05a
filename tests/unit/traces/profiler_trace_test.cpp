#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "data_files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/profiler_trace.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "mentions.hpp"
#include "trace_files.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace ddpsim::literals;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// A source that returns at most `piece` bytes at a time.
ByteSource in_pieces(std::string text, std::size_t piece) {
  return [text = std::move(text), piece, at = std::size_t{0}](char* buffer,
                                                              std::size_t capacity) mutable {
    const std::size_t count = std::min({piece, capacity, text.size() - at});
    std::memcpy(buffer, text.data() + at, count);
    at += count;
    return count;
  };
}

Imported imported(const std::string& text, const ImportOptions& options = {}) {
  return import_profiler_trace(in_pieces(text, text.size() + 1), "t.json", options);
}

std::string trace_complaint(const std::string& text, const ImportOptions& options = {}) {
  return complaint_of([&] { imported(text, options); });
}

std::string events(const std::string& list) {
  return "{\"traceEvents\":[" + list + "]}";
}

}  // namespace

TEST_CASE("profiler trace: a small step is read correctly to the microsecond") {
  // In each step, the broadcast is 12..15 and forward 30..130. Backward kernels start at 140.
  // Gradients are written at 190, 295 and 300, and copied at 195, 300 and 305, which ends backward
  // compute. The all-reduce is 306..366, the copy out lasts until 370, and the optimizer until 390.
  // The second step's backward is 10 us longer.
  const Imported result = imported(tiny_trace());
  const Workload& workload = result.workload;
  CHECK(workload.gpu == "V100");  // the listed GPU that the events name
  CHECK(workload.forward == 128_us);
  CHECK(workload.backward->duration == 165_us);
  CHECK(workload.optimizer == 20_us);
  CHECK(workload.iteration == 1000_us);
  CHECK(stall(workload) == 622_us);
  REQUIRE(workload.backward->ready.size() == 3);
  const auto& ready = workload.backward->ready;
  CHECK(ready[0].at == 50_us);
  CHECK(ready[1].at == 155_us);
  // the earlier parameter's copy was launched before and counts
  CHECK(ready[2].at == 160_us);
  CHECK(ready[0].copied_at == 55_us);
  CHECK(ready[1].copied_at == 160_us);
  CHECK(ready[2].copied_at == 165_us);
  CHECK(workload.host_ready == std::vector<Duration>{-15_us, 25_us, 40_us});
  const RecordedWith& recorded = workload.recorded_with;
  CHECK(recorded.ddp_hooks);
  CHECK(recorded.world_size == 2);
  CHECK(recorded.nccl_kernels == 2);
  CHECK(recorded.exposed == 61_us);
  CHECK(recorded.finalize == 4_us);
  CHECK(recorded.buffer_broadcast == 3_us);
  REQUIRE(recorded.collectives.size() == 1);
  CHECK(recorded.collectives[0].bytes == Bytes(120));
  CHECK(recorded.collectives[0].launch == 50_us);
  CHECK(recorded.collectives[0].start == 166_us);
  CHECK(recorded.collectives[0].duration == 60_us);
  CHECK(result.bucket_bytes == std::vector<Bytes>{Bytes(120)});
  CHECK(mentions(result.recognised, "ProfilerStep#1, whose backward is the lower median"));
}

TEST_CASE(
    "profiler trace: no bundled model fits three gradients, so shapes stay unknown with a note") {
  const Imported result = imported(tiny_trace());
  CHECK(result.workload.parameter_order == ParameterOrder::assumed);
  CHECK_FALSE(result.workload.parameters.at(0).shape.has_value());
  CHECK(result.workload.backward->ready[0].parameter == 2);
  CHECK(mentions(result.warnings, "--model"));
}

TEST_CASE("profiler trace: the size of the all-reduces reveals a compression hook") {
  const std::string without_shapes =
      replaced(tiny_trace(), R"("dtype": "Float", "In msg nelems": 30)",
               R"("dtype": "Half", "In msg nelems": 30)");
  const std::string hooked = replaced(
      without_shapes, R"("name": "torch::autograd::AccumulateGrad")",
      R"("name": "torch::autograd::AccumulateGrad", "args": {"Input Dims": [[10]], "Input type": ["float"]})");
  const Imported result = imported(hooked);
  const RecordedWith& recorded = result.workload.recorded_with;
  CHECK(recorded.wire == Dtype::float16);
  CHECK(recorded.collectives[0].bytes == Bytes(60));
  CHECK(result.bucket_bytes == std::vector<Bytes>{Bytes(120)});  // bytes of gradients
  CHECK(mentions(result.recognised, "a compression hook was on (fp16_compress_hook)"));
  CHECK_FALSE(mentions(result.warnings, "not certain"));
  const Workload again = parse_workload(format_workload(result.workload), "again.json");
  CHECK(again.recorded_with == recorded);

  const Imported half =  // gradients with 16 bits of their own
      imported(replaced(hooked, R"(["float"])", R"(["c10::Half"])"));
  CHECK_FALSE(half.workload.recorded_with.wire);
  CHECK_FALSE(mentions(half.recognised, "hook was on"));
  const Imported unknown = imported(without_shapes);
  CHECK_FALSE(unknown.workload.recorded_with.wire);
  CHECK(mentions(unknown.warnings, "If it is float32, fp16_compress_hook was on"));
}

TEST_CASE("profiler trace: --iteration selects a step, and the last step has no period") {
  const Imported result = imported(tiny_trace(), {.iteration = 1, .model = "", .gpu = ""});
  CHECK(result.workload.backward->duration == 175_us);
  CHECK_FALSE(result.workload.iteration.has_value());
  CHECK(mentions(result.recognised, "ProfilerStep#2"));
  CHECK(trace_complaint(tiny_trace(), {.iteration = 2, .model = "", .gpu = ""})
            .find("there is no iteration 2; complete iterations: 2") != std::string::npos);
  CHECK(trace_complaint(tiny_trace(), {.iteration = -1, .model = "", .gpu = ""}) != "");
}

TEST_CASE("profiler trace: the sizes of the pieces read do not matter") {
  const std::string expected = format_workload(imported(tiny_trace()).workload);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{63}, std::size_t{64},
                                  std::size_t{65}, std::size_t{4096}}) {
    CAPTURE(piece);
    CHECK(format_workload(
              import_profiler_trace(in_pieces(tiny_trace(), piece), "t.json", {}).workload) ==
          expected);
  }
}

TEST_CASE("profiler trace: the order of events does not matter, and a bare list is accepted") {
  const std::string text = tiny_trace();
  nlohmann::json document = nlohmann::json::parse(text);
  auto& list = document["traceEvents"];
  const Imported expected = imported(text);
  std::reverse(list.begin(), list.end());
  const Imported reversed = imported(document.dump());
  CHECK(format_workload(reversed.workload) == format_workload(expected.workload));
  const Imported bare = imported(list.dump(1));
  CHECK(bare.workload.backward->ready[1].at == 155_us);
  CHECK(bare.workload.gpu.empty());
  CHECK(mentions(bare.warnings, "--gpu"));
}

TEST_CASE("profiler trace: events larger than the window, and many windows, are read") {
  // A megabyte of braces and quotes inside a string must not split an event or end the list.
  std::string noise;
  for (int i = 0; i < 150'000; ++i) noise += "{\\\"]\\\\}";
  const std::string big =
      R"({"ph":"X","cat":"python_function","name":")" + noise + R"(","ts":1,"dur":1},)";
  const std::string text =
      replaced(tiny_trace(), "\"traceEvents\": [", "\"traceEvents\": [" + big + big);
  CHECK(format_workload(imported(text).workload) ==
        format_workload(imported(tiny_trace()).workload));
}

TEST_CASE("profiler trace: timestamps since 1970 keep their nanoseconds") {
  const std::string text =
      replaced(tiny_trace(), "\"ts\": 1712195495500140,", "\"ts\": 1712195495500140.003,");
  CHECK(imported(text).workload.forward == Duration::picoseconds(128'003'000));
}

TEST_CASE("profiler trace: each unusable trace gets a message") {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::string tiny = tiny_trace();
  const std::vector<Case> cases = {
      {"", "the file is empty"},
      {"   \n", "the file is empty"},
      {"hello", "this is not JSON"},
      {"{", "the trace ends in the middle"},
      {"{}", "no event of a PyTorch profiler"},
      {"[]", "no event of a PyTorch profiler"},
      {"[] x", "after the end of the trace"},
      {"{} {}", "after the end of the trace"},
      {"[1]", "between two events"},
      {"[{}{}]", "between two events"},
      {"[{},,{}]", "between two events"},
      {"[}]", "between two events"},
      {events("{},"), "between two events"},
      {"{\"traceEvents\":{}}", "where the list of events was expected"},
      {"{\"traceEvents\":[],\"traceEvents\":[]}", "a second time"},
      {"{\"a\" 1}", "where a colon was expected"},
      {"{\"a\":1 \"b\":2}", "no event of a PyTorch profiler"},
      {events(R"({"ph":"X","cat":"kernel","name":"k","ts":"soon","dur":1})"), "no usable \"ts\""},
      {events(R"({"ph":"X","cat":"kernel","name":"k","ts":1})"), "no usable \"dur\""},
      {events(R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":-1})"), "no usable \"dur\""},
      {events(R"({"ph":"X","cat":"kernel","name":"k","ts":1e300,"dur":1})"), "no usable \"ts\""},
      {events(
           R"({"ph":"X","cat":"kernel","name":"k","ts":9223372036854774,"dur":9223372036854774})"),
       "beyond 63 bits"},
      {events(R"({"ph" "X"})"), "broken JSON near here"},
      {events("{\"name\":\"\xff\xfe\"}"), "no event of a PyTorch profiler"},
      {events(R"({"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1})"), "no GPU activity"},
      {events(R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":{"correlation":1}})"),
       "no launch belongs to any GPU activity"},
      {replaced(tiny, "torch::autograd::AccumulateGrad", "x"), "no AccumulateGrad events"},
      {replaced(replaced(tiny, "torch::autograd::AccumulateGrad", "x"), "autograd::engine", "y"),
       "no AccumulateGrad events"},
      {replaced(tiny, "\"ts\": 1712195495501000", "\"ts\": 1712395495501000"), "39 hours apart"},
      {tiny.substr(0, tiny.size() / 2), "the trace ends in the middle"},
      {tiny.substr(0, tiny.size() - 3), "the trace ends in the middle"},
  };
  for (const Case& one : cases) {
    const std::string message = trace_complaint(one.text);
    CAPTURE(one.text.substr(0, 200));
    CAPTURE(message);
    CHECK(message.find("t.json") == 0);
    CHECK(message.find(one.message) != std::string::npos);
  }
}

TEST_CASE("profiler trace: a model that does not exist, or has another number of gradients") {
  CHECK(trace_complaint(tiny_trace(), {.iteration = {}, .model = "resnet5", .gpu = ""})
            .find("Did you mean \"resnet50\"?") != std::string::npos);
  CHECK(trace_complaint(tiny_trace(), {.iteration = {}, .model = "resnet50", .gpu = ""})
            .find("the step holds 3 gradients, but resnet50 has 161") != std::string::npos);
}

namespace {

double relative(double value, double truth) {
  return std::abs(value - truth) / truth;
}

void check_against_truth(const std::string& slug) {
  const std::filesystem::path folder = files::shared_file("data/traces");
  const std::filesystem::path trace = folder / (slug + ".json.gz");
  if (!std::filesystem::exists(trace)) {
    MESSAGE("skipped: the open traces are not beside this checkout");
    return;
  }
  const nlohmann::json truth = nlohmann::json::parse(text_of(folder / (slug + ".gt.json")));
  std::int64_t index = 0;
  for (const nlohmann::json& step : truth.at("iterations")) {
    CAPTURE(step.at("name").get<std::string>());
    const Imported result = import_file(trace, {.iteration = index++, .model = "", .gpu = ""});
    const Workload& workload = result.workload;
    CHECK(mentions(result.recognised, step.at("name").get<std::string>()));
    const double start = step.at("backward_gpu_start_rel");
    const double forward = step.at("forward_gpu_window_us");
    const double backward = step.at("backward_compute_window_us");
    const double optimizer = step.at("after_backward_us");
    CHECK(relative(workload.forward->microseconds(), forward) < 1e-3);
    CHECK(relative(workload.backward->duration.microseconds(), backward) < 1e-3);
    CHECK(std::abs(workload.optimizer->microseconds() - optimizer) <= 1);
    const auto& gradients = step.at("accumulate_grad");
    REQUIRE(workload.backward->ready.size() == 161);
    REQUIRE(gradients.size() == 161);
    double worst = 0;
    for (std::size_t k = 0; k < 161; ++k) {
      const ReadyEvent& event = workload.backward->ready[k];
      const double at = gradients[k].at("ready_gpu_rel").get<double>() - start;
      const double copied = gradients[k].at("ready_incl_hook_rel").get<double>() - start;
      worst = std::max(worst, std::abs(event.at.microseconds() - at));
      worst = std::max(worst, std::abs(event.copied_at.value().microseconds() - copied));
    }
    CHECK(worst <= 1);
    const bool has_period = step.contains("gpu_iter_period_us");
    REQUIRE(workload.iteration.has_value() == has_period);
    if (has_period) {
      CHECK(relative(workload.iteration->microseconds(), step.at("gpu_iter_period_us")) < 1e-3);
    }
    const double tail = step.value("allreduce_tail_after_backward_compute_us", 0.0);
    const double finalize =
        step.at("gpu_span_us").get<double>() - forward - backward - optimizer - std::max(0.0, tail);
    CHECK(std::abs(workload.recorded_with.exposed.value_or(Duration()).microseconds() - tail) <= 1);
    CHECK(std::abs(workload.recorded_with.finalize.value().microseconds() - finalize) <= 1);
    CHECK(workload.recorded_with.nccl_kernels == static_cast<std::int64_t>(step.at("nccl").size()));
    CHECK(result.bucket_bytes == std::vector<Bytes>{Bytes(8'196'000), Bytes(31'502'336),
                                                    Bytes(26'255'360), Bytes(26'550'272),
                                                    Bytes(9'724'160)});
    CHECK(workload.parameters.at(workload.backward->ready[1].parameter).name == "fc.weight");
    std::vector<double> starts;
    for (const nlohmann::json& kernel : step.at("nccl")) {
      if (kernel.at("collective") == "allreduce") {
        starts.push_back(kernel.at("start_rel").get<double>() - start);
      }
    }
    REQUIRE(workload.recorded_with.collectives.size() == starts.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      CHECK(std::abs(workload.recorded_with.collectives[i].start.microseconds() - starts[i]) <= 1);
    }
    const std::string text = format_workload(workload);
    CHECK(format_workload(parse_workload(text, "again")) == text);
  }
}

}  // namespace

TEST_CASE("profiler trace: every iteration of ResNet-50 under DDP on two A100 is as published") {
  check_against_truth("r50-ddp-2xA100-rank0");
}
