// A profiler trace built event by event. Times are microseconds from 1 000 000; thread 1 calls
// backward, thread 2 is autograd's.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/traces/profiler_trace.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"

namespace ddpsim::files {

class TraceBuilder {
 public:
  static constexpr int kCaller = 1;
  static constexpr int kAutograd = 2;

  /// Any span. `arguments`: members of "args", as JSON.
  TraceBuilder& span(const std::string& category, const std::string& name, int thread, double from,
                     double to, const std::string& arguments = "") {
    events_.push_back(fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
        category, name, thread, 1e6 + from, to - from, arguments));
    return *this;
  }
  TraceBuilder& step(int number, double from, double to) {
    return span("user_annotation", fmt::format("ProfilerStep#{}", number), kCaller, from, to);
  }
  TraceBuilder& node(const std::string& name, double from, double to, int thread = kAutograd) {
    return span("cpu_op", "autograd::engine::evaluate_function: " + name, thread, from, to);
  }
  /// The inner event, which writes the gradient; with its shape where `input` names one:
  /// `[[3,4]]` and `float`.
  TraceBuilder& gradient(double from, double to, int thread = kAutograd,
                         const std::string& dims = "", const std::string& type = "") {
    const std::string shape =
        dims.empty() ? "" : fmt::format(R"("Input Dims":{},"Input type":["{}"])", dims, type);
    return span("cpu_op", "torch::autograd::AccumulateGrad", thread, from, to, shape);
  }
  /// The outer event, hooks included.
  TraceBuilder& hooks(double from, double to, int thread = kAutograd) {
    return node("torch::autograd::AccumulateGrad", from, to, thread);
  }
  /// A launch at `at`, and what it runs on the GPU.
  TraceBuilder& kernel(double at, double from, double to, int thread = kAutograd,
                       const std::string& name = "k", const std::string& arguments = "") {
    const int id = ++launches_;
    span("cuda_runtime", "cudaLaunchKernel", thread, at, at + 1,
         fmt::format(R"("correlation":{})", id));
    return span(
        "kernel", name, 7, from, to,
        fmt::format(R"("correlation":{}{}{})", id, arguments.empty() ? "" : ",", arguments));
  }
  /// A reducer's all-reduce of so many elements, its call around the launch.
  TraceBuilder& all_reduce(double at, double from, double to, std::int64_t elements = 8,
                           const std::string& dtype = "Float") {
    const std::string arguments = fmt::format(
        R"("Collective name":"allreduce","dtype":"{}","In msg nelems":{})", dtype, elements);
    span("cpu_op", "record_param_comms", kAutograd, at - 0.5, at + 2, arguments);
    return kernel(at, from, to, kAutograd, "ncclKernel_AllReduce", arguments);
  }
  TraceBuilder& ddp() {
    return span("cpu_op", "torch::distributed::reducer::mul_out", kAutograd, 0, 0);
  }
  /// Members beside the events: `"distributedInfo":{…}`.
  TraceBuilder& with(const std::string& member) {
    members_ += "," + member;
    return *this;
  }

  std::string text() const {
    return fmt::format(R"({{"traceEvents":[{}]{}}})", fmt::join(events_, ",\n"), members_);
  }
  Imported import(const ImportOptions& options = {}) const {
    return import_profiler_trace(
        [text = text(), at = std::size_t{0}](char* buffer, std::size_t capacity) mutable {
          const std::size_t count = std::min(capacity, text.size() - at);
          std::memcpy(buffer, text.data() + at, count);
          at += count;
          return count;
        },
        "t.json", options);
  }

 private:
  std::vector<std::string> events_;
  std::string members_;
  int launches_ = 0;
};

}  // namespace ddpsim::files
