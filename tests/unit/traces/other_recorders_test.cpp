// Traces of other devices, other profilers and several processes. Each is refused with its content.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "complaint.hpp"
#include "mentions.hpp"
#include "recognise.hpp"
#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;

namespace {

std::string event(const std::string& category, const std::string& name, const std::string& pid,
                  int at = 0, const std::string& arguments = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":1,"ts":{},"dur":5,"args":{{{}}}}})",
      category, name, pid, 1000 + at, arguments);
}
std::string process(const std::string& name, const std::string& pid) {
  return fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}"}}}})", pid,
                     name);
}

std::string refusal_of(const std::string& events) {
  const std::string text = "[" + events + "]";
  return complaint_of([&] {
    import_profiler_trace(
        [&text, at = std::size_t{0}](char* buffer, std::size_t capacity) mutable {
          const std::size_t count = std::min(capacity, text.size() - at);
          std::memcpy(buffer, text.data() + at, count);
          at += count;
          return count;
        },
        "t.json", {});
  });
}

}  // namespace

TEST_CASE("traces: several processes in one file are detected by every sign") {
  const std::string step = event("user_annotation", "ProfilerStep#3", "7");
  const std::string all_reduce = R"("device":{},"stream":7,"correlation":{})";
  for (const std::string& events :
       {event("cpu_op", "aten::add", R"("[R0] 7")") + "," +
            event("cpu_op", "aten::add", R"("[R1] 8")"),
        event("cpu_op", "aten::add", "7") + "," + event("cpu_op", "aten::add", "8", 9),
        step + "," + event("user_annotation", "ProfilerStep#3", "7", 400),
        event("kernel", "ncclDevKernel_AllReduce_Sum_f32", "0", 0,
              fmt::format(fmt::runtime(all_reduce), 0, 1)) +
            "," +
            event("kernel", "ncclDevKernel_AllReduce_Sum_f32", "1", 2,
                  fmt::format(fmt::runtime(all_reduce), 1, 2))}) {
    CAPTURE(events);
    const std::string refusal = refusal_of(events);
    CHECK(mentions(refusal, "several processes in one file"));
    CHECK(mentions(refusal, "each rank's own trace"));
  }
}

TEST_CASE("traces: other devices and profilers are named") {
  const std::string host = event("cpu_op", "aten::add", "7");
  CHECK(mentions(refusal_of(host + "," + process("Ascend Hardware", "800")), "Ascend NPU"));
  CHECK(mentions(refusal_of(host + "," + event("xpu_runtime", "urEnqueueKernelLaunch", "7")),
                 "an Intel GPU"));
  CHECK(mentions(refusal_of(host + "," + event("mtia_ccp_events", "k", "7")), "MTIA"));
  CHECK(
      mentions(refusal_of(process("/device:GPU:0", "1") + "," + event("", "fusion", "1")), "JAX"));
}

TEST_CASE("recognise: reports of other profilers get a hint") {
  const auto remedy = [](const std::string& head) {
    const Recognition one = recognise(head, true);
    return one.looks_like + ": " + one.hint;
  };
  CHECK(
      mentions(remedy("NVIDIA Tegra Profiler Report 2024.2.3"), "nsys export --type sqlite FILE"));
  CHECK(mentions(remedy(std::string("NVR\0\x01", 5)), "Nsight Compute"));
  CHECK(
      mentions(remedy("\"Kind\",\"Agent_Id\",\"Kernel_Name\",\"Start_Timestamp\"\n"), "rocprofv3"));
  CHECK(mentions(remedy("\"Index\",\"KernelName\",\"gpu-id\"\n"), "rocprof"));
  CHECK(mentions(remedy(R"({"rocprofiler-sdk-tool": []})"), "rocprofv3"));
  CHECK(mentions(remedy(R"({"$schema": "https://www.speedscope.app/file-format-schema.json"})"),
                 "speedscope"));
  CHECK(
      mentions(remedy("[Rank 0 / 8] [before iteration 10] Training Net unused_parameter_size=0\n"),
               "_get_ddp_logging_data"));
}
