// Reads the texts of an Nsight Systems export: ranges of torch.autograd.profiler.emit_nvtx and
// names of NCCL's kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddpsim {

/// Name and sizes of "aten::mm, seq = 4, op_id = 7, sizes = [[2, 3]]".
struct EmittedRange {
  std::string_view name;
  std::string_view sizes;  ///< empty without record_shapes
};
EmittedRange emitted_range(std::string_view text);

/// Element type in the name of an all-reduce kernel, in C++'s words:
/// ncclDevKernel_AllReduce_Sum_f32_RING_LL (since NCCL 2.19),
/// ncclKernel_AllReduce_RING_LL_Sum_half, ncclAllReduceRingLLKernel_sum_f16 (2.4).
std::optional<std::string> type_in_kernel(std::string_view name);

}  // namespace ddpsim
