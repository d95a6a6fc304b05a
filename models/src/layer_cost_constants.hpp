// The efficiencies of the layer-cost model, each a share of a figure of the data sheet.
#pragma once

#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

struct LayerCostConstants {
  // Learned from 1567 module times of eight convolutional models on a V100 (the profiles of
  // msr-fiddle/pipedream, fp32, batch 64 to 256); each model predicted by what the other seven
  // teach is within 13 % of its backward (tests/unit/models/layer_cost_data_test.cpp).
  double fp32_forward = 0.80;
  double fp32_backward = 0.73;
  double strided_gradient =
      0.63;  ///< of fp32_backward, for the input's gradient of a strided convolution
  double winograd_product = 0.84;
  double winograd_memory = 0.61;
  double memory = 0.96;
  // Learned from published single-GPU throughputs and traces on V100, A100 and H100
  // (tests/unit/models/step_time_data_test.cpp).
  double tensor_convolution = 0.40;
  // Learned from the same, and from decoders trained under FSDP within a node on A100 and H100 by three teams, whose
  // steps hold some communication (tests/unit/models/decoder_step_data_test.cpp). Upper bounds: 0.87 of the peak is
  // the most any shape reached on an A100, 0.80 on an H100 (Bekman, Machine Learning Engineering, MAMF).
  double tensor_linear = 0.80;
  double tensor_depth = 400;  ///< of a product that runs at half of it
  /// Forward and backward of FlashAttention-2: half of an A100's peak (Dao, 2023, figures 4 to 6).
  double tensor_attention = 0.50;
  /// A small kernel and the gap after it: 1.8 + 1.0 us in two ResNet-50 traces (V100, A100).
  double kernel_us = 2.8;
};

/// Of what an A100 makes of its peak, the part that GPUs of another generation make of theirs.
struct Sustained {
  double linear = 1;
  double attention = 1;
};

/// From sm_90 on a peak grew faster than power and memory allow, and PyTorch's fused attention does not use its new
/// instructions: 0.60 of an H100's peak in Linears, a third in attention. Older and smaller cards: as BERT on V100.
constexpr Sustained sustained_by(const GpuModel& gpu) {
  if (gpu.compute_capability >= 90) return {.linear = 0.75, .attention = 0.66};
  if (gpu.compute_capability == 80) return {};
  return {.linear = 0.94};
}

/// Memory bandwidth that `memory` is a share of. It was learned on A100 of both sizes at the rate of the 80 GB card: a
/// ResNet-50 trace of a 40 GB card took 37.9 ms, where that rate gives 37.6 and the card's own, 1555 GB/s, 44.5.
inline Bandwidth layer_bandwidth(const GpuModel& gpu) {
  const Bandwidth learned = Bandwidth::gigabytes_per_second(2039);
  const bool ampere = gpu.name == "A100" || gpu.name == "A800";
  return ampere && gpu.memory_bandwidth < learned ? learned : gpu.memory_bandwidth;
}

LayerCost layer_cost(const Layer& layer, const ComputeSetting& setting,
                     const LayerCostConstants& constants);

}  // namespace ddpsim
