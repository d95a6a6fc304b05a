// Traces of other devices, or only of the host or the GPU. Each is refused with its own reason.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "complaint.hpp"
#include "trace_builder.hpp"

using namespace ddpsim;
using files::TraceBuilder;

namespace {

std::string refusal_of(const TraceBuilder& trace) {
  return complaint_of([&] { trace.import(); });
}

/// A step with host events only.
TraceBuilder host_side() {
  TraceBuilder trace;
  trace.step(1, 0, 900).node("MulBackward0", 100, 120).hooks(130, 150).gradient(131, 140);
  return trace;
}

}  // namespace

TEST_CASE("trace of another device: MTIA, HPU and Glow are named") {
  for (const auto& [category, device] :
       {std::pair("mtia_ccp_events", "Meta's MTIA"), std::pair("mtia_runtime", "Meta's MTIA"),
        std::pair("hpu_op", "an Intel Gaudi (HPU)"), std::pair("glow_runtime", "Glow")}) {
    TraceBuilder trace = host_side();
    trace.span(category, "LaunchKernel", 7, 100, 200, "\"correlation\":1");
    CHECK(mentions(refusal_of(trace), device));
  }
}

TEST_CASE("trace of ROCm: HIP's launches and RCCL's kernels are read like CUDA's") {
  TraceBuilder trace = host_side();
  trace.span("hip_runtime", "hipLaunchKernel", TraceBuilder::kAutograd, 105, 106,
             "\"correlation\":1");
  trace.span("kernel", "rocblas_gemm", 7, 110, 130, "\"correlation\":1");
  CHECK(trace.import().workload.backward->ready.size() == 1);
}

TEST_CASE("trace without kernels: launches show that the GPU's profiler failed") {
  CHECK(mentions(refusal_of(host_side()), "no GPU activity: the profiler recorded the host only"));
  TraceBuilder trace = host_side();
  trace.span("cuda_runtime", "cudaLaunchKernel", TraceBuilder::kAutograd, 105, 106,
             "\"correlation\":1");
  CHECK(mentions(refusal_of(trace), "the host launched 1 times, but it holds no kernel"));
}
