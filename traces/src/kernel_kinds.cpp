#include "ddpsim/traces/kernel_kinds.hpp"

#include <algorithm>
#include <cctype>
#include <string>

#include "kernel_sums.hpp"
#include "trace_names.hpp"

namespace ddpsim {
namespace {

struct Word {
  std::string_view part;  ///< in lower case
  KernelKind kind;
};

/// The first word that occurs in a name decides, so more specific words come first.
constexpr std::array kWords = {
    Word{"flash", KernelKind::attention},
    Word{"fmha", KernelKind::attention},
    Word{"attention", KernelKind::attention},
    Word{"multi_tensor", KernelKind::optimizer},
    Word{"multitensor", KernelKind::optimizer},
    Word{"nchwtonhwc", KernelKind::copy},
    Word{"nhwctonchw", KernelKind::copy},
    Word{"memcpy", KernelKind::copy},
    Word{"memset", KernelKind::copy},
    Word{"transpose", KernelKind::copy},
    Word{"catarray", KernelKind::copy},
    Word{"copy_kernel", KernelKind::copy},
    Word{"embedding", KernelKind::embedding},
    Word{"batch_norm", KernelKind::normalization},
    Word{"bn_fw", KernelKind::normalization},
    Word{"bn_bw", KernelKind::normalization},
    Word{"layer_norm", KernelKind::normalization},
    Word{"layernorm", KernelKind::normalization},
    Word{"group_norm", KernelKind::normalization},
    Word{"gammabeta", KernelKind::normalization},
    Word{"softmax", KernelKind::softmax},
    Word{"nll_loss", KernelKind::softmax},
    Word{"pool", KernelKind::pooling},
    Word{"wgrad", KernelKind::convolution},
    Word{"dgrad", KernelKind::convolution},
    Word{"fprop", KernelKind::convolution},
    Word{"winograd", KernelKind::convolution},
    Word{"implicit", KernelKind::convolution},
    Word{"cudnn", KernelKind::convolution},
    Word{"convol", KernelKind::convolution},
    Word{"conv1d", KernelKind::convolution},
    Word{"conv2d", KernelKind::convolution},
    Word{"conv3d", KernelKind::convolution},
    Word{"gemm", KernelKind::matrix_product},
    Word{"gemv", KernelKind::matrix_product},
    Word{"cutlass", KernelKind::matrix_product},
    Word{"cublas", KernelKind::matrix_product},
    Word{"splitk", KernelKind::matrix_product},
    Word{"adam", KernelKind::optimizer},
    Word{"reduce", KernelKind::reduction},
    Word{"elementwise", KernelKind::elementwise},
    Word{"pointwise", KernelKind::elementwise},
    Word{"index", KernelKind::embedding},
    Word{"gather", KernelKind::embedding},
    Word{"scatter", KernelKind::embedding},
    Word{"triton", KernelKind::elementwise},
};

}  // namespace

std::string_view name_of(KernelKind kind) {
  constexpr std::array<std::string_view, kKernelKinds> kNames = {
      "convolution", "matrix_product", "attention", "normalization", "pooling", "softmax",
      "embedding",   "optimizer",      "reduction", "elementwise",   "copy",    "other"};
  return kNames.at(static_cast<std::size_t>(kind));
}

KernelKind kernel_kind(std::string_view name) {
  std::string small(name);
  std::ranges::transform(small, small.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  const auto found =
      std::ranges::find_if(kWords, [&](const Word& word) { return contains(small, word.part); });
  return found == kWords.end() ? KernelKind::other : found->kind;
}

void KernelSums::add(const TraceEvent& event) {
  // Counts only markers of the host. The GPU's copies have other kinds.
  if (event.kind == EventKind::annotation || event.kind == EventKind::cpu_op)
    steps_ += event.name.starts_with(kStepMarker) ? 1 : 0;
  if (event.kind != EventKind::kernel && event.kind != EventKind::memory) return;
  if (event.name.starts_with("nccl") || event.name.starts_with("rccl")) return;
  const auto kind = static_cast<std::size_t>(
      event.kind == EventKind::memory ? KernelKind::copy : kernel_kind(event.name));
  ns_.at(kind) += event.duration_ns;
  ++count_.at(kind);
}

std::optional<KernelTimes> KernelSums::by_step() const {
  if (std::ranges::all_of(count_, [](std::int64_t one) { return one == 0; })) return std::nullopt;
  KernelTimes times;
  times.steps_known = steps_ > 0;
  times.steps = std::max<std::int64_t>(steps_, 1);
  for (std::size_t kind = 0; kind < kKernelKinds; ++kind)
    times.kinds.at(kind) = {
        .time = Duration::microseconds(static_cast<double>(ns_.at(kind)) / 1000 /
                                       static_cast<double>(times.steps)),
        .count = static_cast<double>(count_.at(kind)) / static_cast<double>(times.steps)};
  return times;
}

}  // namespace ddpsim
