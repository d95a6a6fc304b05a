// Sorts a trace's kernels into kinds by their names. Two traces can then be compared: which kinds
// became slower, and which kernels are different.
//
// The times are sums over the whole trace, divided by its steps (ProfilerStep markers, otherwise
// one step). Kernels are not assigned to parts of a step. Known names are those of cuBLAS, cuDNN,
// CUTLASS, Triton, ATen and Apex, as public traces show them. A kernel with no known word is
// `other`. NCCL's kernels are left out because their durations include waits.
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
/// Kind of a kernel with this name, as the profiler writes it.
KernelKind kernel_kind(std::string_view name);

struct KernelTimes {
  struct OfKind {
    Duration time;     ///< per step
    double count = 0;  ///< per step
  };
  std::array<OfKind, kKernelKinds> kinds;
  std::int64_t steps = 1;
  /// Whether the number of steps in the trace is known. False: the trace counts as one step.
  bool steps_known = false;
};

}  // namespace ddpsim
