// The efficiencies of the layer-cost model, each a share of a figure of the data sheet.
#pragma once

#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

struct LayerCostConstants {
  // Learned from 1567 module times of eight convolutional models on a V100 (the profiles of
  // msr-fiddle/pipedream, fp32, batch 64 to 256); each model predicted by what the other seven
  // teach is within 13 % of its backward (tests/unit/models_layer_cost_data_test.cpp).
  double fp32_forward = 0.80;
  double fp32_backward = 0.73;
  double strided_gradient =
      0.63;  ///< of fp32_backward, for the input's gradient of a strided convolution
  double winograd_product = 0.84;
  double winograd_memory = 0.61;
  double memory = 0.96;
  // Learned from published single-GPU throughputs and traces on V100, A100 and H100
  // (tests/unit/models_step_time_data_test.cpp).
  double tensor_convolution = 0.40;
  double tensor_linear = 0.55;
  double tensor_attention = 0.45;
  /// A small kernel and the gap after it: 1.8 + 1.0 us in two ResNet-50 traces (V100, A100).
  double kernel_us = 2.8;
};

LayerCost layer_cost(const Layer& layer, const ComputeSetting& setting,
                     const LayerCostConstants& constants);

}  // namespace ddpsim
