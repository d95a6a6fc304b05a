// What kinds of kernels a trace's steps ran, told by their names: which of them got slower, or which others run now.
//
// Sums over all of a trace, by step (ProfilerStep markers, else one): no kernel is put into one part of a step. Names are those
// of cuBLAS, cuDNN, CUTLASS, Triton, ATen and Apex as public traces show them; what has none of their words is `other`.
// NCCL's kernels are left out: their durations hold waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

enum class KernelKind : std::uint8_t {
  convolution,
  matrix_product,
  attention,
  normalization,  ///< batch, layer, group
  pooling,
  softmax,    ///< and losses made of it
  embedding,  ///< gathers and scatters by index
  optimizer,  ///< kernels over lists of tensors
  reduction,
  elementwise,
  copy,  ///< memory copies and sets, transposes
  other
};
inline constexpr std::size_t kKernelKinds = 12;
std::string_view name_of(KernelKind kind);  ///< "matrix_product"
/// Of a kernel's name as the profiler writes it.
KernelKind kernel_kind(std::string_view name);

struct KernelTimes {
  struct OfKind {
    Duration time;     ///< a step
    double count = 0;  ///< a step
  };
  std::array<OfKind, kKernelKinds> kinds;
  std::int64_t steps = 1;
  bool steps_known = false;  ///< false: no markers, all of the trace counts as one
};

}  // namespace ddpsim
