// Kinds of kernels by their names in public traces, and the comparison of two sides.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "data_files.hpp"
#include "ddpsim/diagnose/evidence/kernel_changes.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/kernel_kinds.hpp"

namespace ddpsim {
namespace {

TEST_CASE("kernel kinds: names of public traces") {
  CHECK(kernel_kind("volta_sgemm_128x64_nt") == KernelKind::matrix_product);
  CHECK(kernel_kind("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm>") ==
        KernelKind::matrix_product);
  CHECK(kernel_kind("sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32") == KernelKind::convolution);
  CHECK(kernel_kind("volta_scudnn_winograd_128x128_ldg1") == KernelKind::convolution);
  CHECK(kernel_kind("void cudnn::bn_bw_1C11_kernel_new<float, float>") ==
        KernelKind::normalization);
  CHECK(kernel_kind("void cudnn::ops::nchwToNhwcKernel<float>") == KernelKind::copy);
  CHECK(kernel_kind("void at::native::vectorized_elementwise_kernel<4>") ==
        KernelKind::elementwise);
  CHECK(kernel_kind("split_embedding_codegen_forward_unweighted_kernel") == KernelKind::embedding);
  CHECK(kernel_kind("multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor>") ==
        KernelKind::optimizer);
  CHECK(kernel_kind("max_pool_backward_nchw<float, float>") == KernelKind::pooling);
  CHECK(kernel_kind("flash_fwd_kernel") == KernelKind::attention);
  CHECK(kernel_kind("nobody knows") == KernelKind::other);
}

KernelTimes times(double products_ms, double norms_ms, double products = 100) {
  KernelTimes all;
  all.kinds[static_cast<std::size_t>(KernelKind::matrix_product)] = {
      Duration::milliseconds(products_ms), products};
  all.kinds[static_cast<std::size_t>(KernelKind::normalization)] = {
      Duration::milliseconds(norms_ms), 50};
  return all;
}

TEST_CASE("kernel kinds: all kinds slower, one kind slower, other kernels, no change") {
  CHECK(compare_kernels(times(10, 5), times(12, 6.1)).change == KernelChange::slower_alike);
  CHECK(compare_kernels(times(10, 5), times(16, 5)).change == KernelChange::one_kind);
  CHECK(compare_kernels(times(10, 5), times(16, 5, 160)).change == KernelChange::others_run);
  CHECK(compare_kernels(times(10, 5), times(10.1, 5.1)).change == KernelChange::none);
  const KernelComparison one = compare_kernels(times(10, 5), times(16, 5));
  CHECK(one.rows.front().kind == KernelKind::matrix_product);
  CHECK_FALSE(one.says.empty());
}

TEST_CASE("kernel kinds: the times of a real step add up to its kernels") {
  const std::string trace = files::shared_file("data/traces/r50-ddp-1xV100-rank0.json.gz");
  if (!std::filesystem::exists(trace)) {
    MESSAGE("skipped: no data/traces beside the checkout");
    return;
  }
  const KernelTimes all = import_file(trace, {.kernel_times = true}).kernel_times.value();
  Duration sum;
  for (const KernelTimes::OfKind& kind : all.kinds) sum += kind.time;
  CHECK(all.steps_known);
  // A GPU-bound step of 95.7 ms, in which the GPU is hardly idle. The trace holds one more partial
  // step at its edges.
  CHECK(sum.milliseconds() > 80);
  CHECK(sum.milliseconds() < 110);
  // A convolutional network.
  const Duration longest = std::ranges::max(all.kinds, {}, [](const KernelTimes::OfKind& kind) {
                             return kind.time;
                           }).time;
  CHECK(all.kinds[static_cast<std::size_t>(KernelKind::convolution)].time == longest);
  CHECK_FALSE(import_file(trace, {}).kernel_times);
}

}  // namespace
}  // namespace ddpsim
