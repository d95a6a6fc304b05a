// What PyTorch's operators launch on a GPU, and what launching costs the host, relative to each
// other.
#pragma once

#include <array>
#include <cstdint>

#include "ddpsim/models/launches.hpp"

namespace ddpsim {

/// Kernels, fills and copies of a convolution and of the BatchNorm after it.
struct ConvolutionKernels {
  int forward = 0;
  int backward = 0;
  int normalization_forward = 1;
  int normalization_backward = 1;
};
/// PyTorch's default layout in fp32. Profiler traces of ResNets on V100 and RTX 2080 Ti show 1.9 and
/// 3.6 launches in forward, and 5.7 and 6.7 in backward. One on A100 shows 2.2 and 6.3.
inline constexpr ConvolutionKernels kNchw = {.forward = 2, .backward = 6};
/// PyTorch's default layout on tensor cores: operands are copied into NHWC and back. ResNets on
/// H100 and H200 launch 10 to 11 for both passes, a VGG-13 on H100 19.
inline constexpr ConvolutionKernels kConverted = {.forward = 3, .backward = 7};
/// channels_last: a ResNet-50 in bfloat16 on H100 and H200 launches twelve kernels for a convolution
/// and its BatchNorm. PyTorch's own BatchNorm runs seven of them: sums, their fill, the running statistics
/// and the result; sums, their fill and the gradient.
inline constexpr ConvolutionKernels kNhwc = {
    .forward = 1, .backward = 4, .normalization_forward = 4, .normalization_backward = 3};
/// PyTorch's own BatchNorm: sums, running statistics, result.
inline constexpr int kNativeBatchNormForward = 3;
// A product that is split along its depth has a second kernel, which sums. In fp32, profiler traces
// on V100 and A100 show 1.5 to 2.5 launches for each product. In 16 bits the products of weights'
// gradients are split.

/// Kernels of the backward of fused attention, as layers state them: sums of each row, the
/// gradients, a cast of that of the queries.
inline constexpr int kFusedBackwardKernels = 3;
/// Attention that is written out (_scaled_dot_product_attention_math): repeated keys and values 2,
/// scores, scale and mask 2, softmax, weighted sum, copies into and out of heads 4. Each of the two
/// products has two gradients.
inline constexpr LayerLaunches kWrittenOutAttention = {
    .forward = {.operators = 11, .kernels = 11}, .backward = {.operators = 13, .kernels = 13}};
/// The gradient of the input, and those of weight and bias (traces).
inline constexpr int kLayerNormBackward = 2;
/// The gradient of an embedding sorts the indices that were looked up.
inline constexpr int kEmbeddingBackward = 5;

/// Limits of one kernel of multi_tensor_apply, by its number of lists (PyTorch's
/// MultiTensorApply.cuh).
inline constexpr std::array kMostTensors = {110, 64, 48, 36, 30};
inline constexpr std::int64_t kMostBlocks = 320;
inline constexpr std::int64_t kChunkElements = 65536;
/// Operators of GradScaler's scale(), unscale_(), step() and update(), without the check of the
/// gradients.
inline constexpr std::int64_t kScalerOperators = 9;

/// Host time of a further kernel of one operator, relative to that of an operator with one kernel.
/// Nine models at batch 1 and 2, on the hosts of an H100 and an H200, took 27 us for each operator
/// and 15 us for each kernel. That leaves an error of 10 and 12 % (root mean square). Operators
/// alone leave 13 and 14 %, kernels alone 15 and 16 %.
inline constexpr double kFurtherKernel = 0.35;
/// Host time of a foreach optimizer for each parameter, on the same scale: its lists are made and
/// checked in Python. On the two hosts: SGD 9 to 17 us, AdamW 18 to 38.
inline constexpr double kListedOnce = 0.3;
inline constexpr double kListedByAdam = 0.7;
inline constexpr double kScalerListed = 0.15;

}  // namespace ddpsim
