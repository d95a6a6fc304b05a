#include "usable_trace.hpp"

#include <fmt/format.h>

#include <utility>

#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

[[noreturn]] void refuse_trace(const std::string& file, std::string message, Hint hint) {
  throw InputError({file, "", std::move(message), std::move(hint)});
}

/// Requires that PyTorch's profiler wrote the trace, in one process.
void require_profiler_of_pytorch(const TraceRecords& records, const std::string& file) {
  if (records.launches() == 0 && !records.device_name().empty()) {
    refuse_trace(file,
                 fmt::format("recorded on {}: ddpsim reads traces of NVIDIA and AMD GPUs",
                             records.device_name()),
                 "Record the model on an NVIDIA or AMD GPU, or have it estimated: MODEL@GPU");
  }
  if (records.gpu_activities() == 0 && !records.profiler_name().empty()) {
    refuse_trace(file,
                 fmt::format("recorded by {}, not by PyTorch's profiler", records.profiler_name()),
                 "Record with torch.profiler, which records CUDA and ROCm, and give its trace");
  }
  if (!records.several_processes().empty())
    refuse_several_processes(file, records.several_processes());
  if (records.events() == 0) {
    refuse_trace(file, "it holds no event of a PyTorch profiler",
                 "Expected events with \"ph\": \"X\" and categories such as cpu_op and kernel");
  }
  if (records.events() == records.legacy_events()) {
    refuse_trace(file,
                 "recorded by a PyTorch build without Kineto: it holds only names and host times "
                 "of operations, no GPU activities, launches, categories or shapes",
                 "Record with torch.profiler of a CUDA or ROCm build");
  }
}

void require_gpu_activities(const TraceRecords& records, const std::string& file) {
  if (records.gpu_activities() == 0 && records.launches() > 0) {
    refuse_trace(
        file,
        fmt::format("the host launched {} times, but it holds no kernel: the profiler of the GPU "
                    "(CUPTI, roctracer) recorded nothing",
                    records.launches()),
        "Look for CUPTI_ERROR in the run's output: another profiler held the GPU, or permission is "
        "lacking (NVreg_RestrictProfilingToAdminUsers)");
  }
  if (records.gpu_activities() == 0) {
    refuse_trace(file, "no GPU activity: the profiler recorded the host only",
                 "Record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
  }
  if (records.activity_count() == 0) {
    refuse_trace(
        file,
        "no launch belongs to any GPU activity (cuda_runtime events with correlation numbers)",
        "Record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
  }
}

void require_gradients(const TraceRecords& records, const std::string& file) {
  if (records.host_operations() == 0) {
    refuse_trace(
        file,
        fmt::format(
            "cannot tell how gradients are reduced, nor when they are ready. No operator of the "
            "host was recorded, only launches and {} GPU activities ({} NCCL kernels)",
            records.gpu_activities(), records.kernels().size()),
        "Record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]");
  }
  if (records.node_count(TraceRecords::Node::gradient) == 0) {
    refuse_trace(
        file, "no AccumulateGrad events, so no gradient is known to be ready",
        records.graph_launches()
            ? "A backward that was captured in a CUDA graph shows no gradients; record it without"
            : "Record steps that run loss.backward() on leaf parameters, with "
              "ProfilerActivity.CPU");
  }
}

}  // namespace

void require_usable(const TraceRecords& records, const std::string& file) {
  require_profiler_of_pytorch(records, file);
  require_gpu_activities(records, file);
  require_gradients(records, file);
}

void refuse_several_processes(const std::string& file, const std::string& why) {
  refuse_trace(file, fmt::format("traces of several processes in one file: {}", why),
               "Give each rank's own trace, from before they were merged. Several are joined as "
               "FILE,FILE,… or as a folder");
}

}  // namespace ddpsim
