// Efficiencies of the layer-cost model. Each is a share of a data sheet value.
#pragma once

#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

struct LayerCostConstants {
  // Fitted to 1567 module times of eight convolutional models on a V100 (profiles of
  // msr-fiddle/pipedream, fp32, batch 64 to 256). If one model is predicted from the other seven,
  // the error of its backward is within 13 % (tests/unit/models/layer_cost_data_test.cpp).
  double fp32_forward = 0.80;
  double fp32_backward = 0.73;
  /// Share of fp32_backward, for the input's gradient of a strided convolution.
  double strided_gradient = 0.63;
  double winograd_product = 0.84;
  double winograd_memory = 0.61;
  double memory = 0.96;
  // Fitted to published single-GPU throughputs and traces on V100, A100 and H100
  // (tests/unit/models/step_time_data_test.cpp).
  double tensor_convolution = 0.40;
  // Fitted to the same data, and to decoders that three teams trained under FSDP within a node on
  // A100 and H100. Those steps include some communication
  // (tests/unit/models/decoder_step_data_test.cpp). Upper bounds: no shape reached more than 0.87
  // of the peak on an A100 and 0.80 on an H100 (Bekman, Machine Learning Engineering, MAMF).
  double tensor_linear = 0.80;
  /// Depth at which a product reaches half of tensor_linear.
  double tensor_depth = 400;
  /// Forward and backward of FlashAttention-2 reach half of an A100's peak (Dao, 2023, figures 4 to
  /// 6).
  double tensor_attention = 0.50;
  /// Fused attention on fp32 tensors with allow_tf32, PyTorch's memory-efficient kernel. Three models
  /// on an H100 and an H200 took what 32 TFLOP/s take, relative to the `attention` of those cards.
  double tensor_attention_tf32 = 0.10;
  /// Time per element of one channel in PyTorch's own BatchNorm: gradients of ResNet-50 recorded on
  /// an H100 and an H200 became ready so far apart. Both cards took the same time, whatever the
  /// number of channels. ResNet-152 was not used.
  double channel_forward_ns = 1.2;
  double channel_backward_ns = 2.05;
  /// A small kernel and the gap after it took 1.8 + 1.0 us in two ResNet-50 traces (V100, A100).
  double kernel_us = 2.8;
};

/// Share of the peak that a GPU sustains, relative to the share that an A100 sustains.
struct Sustained {
  double linear = 1;
  double convolution = 1;
  double attention = 1;
  /// Share of the peak in products of an odd length. GPT-2's output layer of 50257 words took 9.5 ms
  /// of backward on both an H100 and an H200. On an A100, padding to 50304 words saved a fifth of
  /// nanoGPT's step, as if these products took 1.9 times as long.
  double odd = 0.28;
  /// Elementwise kernels of a VGG-13 trace reach 0.91 of an H100's bandwidth.
  double memory = 1;
};

/// From sm_90 on, peaks grew faster than power and memory allow, and PyTorch's fused attention does
/// not use the new instructions. An H100 sustains 0.60 in Linears and a third in attention. Older
/// and smaller cards use the values of BERT and of ResNet-50 in half precision on V100.
constexpr Sustained sustained_by(const GpuModel& gpu) {
  if (gpu.compute_capability >= 90)
    return {.linear = 0.75, .attention = 0.66, .odd = 0.135, .memory = 0.94};
  if (gpu.compute_capability == 80) return {};
  return {.linear = 0.94, .convolution = 1.25};
}

/// Memory bandwidth that the share `memory` refers to. It was fitted on both sizes of A100 with the
/// bandwidth of the 80 GB card. A ResNet-50 trace of a 40 GB card took 37.9 ms. That bandwidth
/// predicts 37.6 ms; the card's own, 1555 GB/s, predicts 44.5 ms.
inline Bandwidth layer_bandwidth(const GpuModel& gpu) {
  const Bandwidth learned = Bandwidth::gigabytes_per_second(2039);
  const bool ampere = gpu.name == "A100" || gpu.name == "A800";
  return ampere && gpu.memory_bandwidth < learned ? learned : gpu.memory_bandwidth;
}

LayerCost layer_cost(const Layer& layer, const ComputeSetting& setting,
                     const LayerCostConstants& constants);

}  // namespace ddpsim
