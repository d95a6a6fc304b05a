// How long a GPU takes for a layer, estimated from its specification: an explainable roofline, not
// a measurement.
//
//   product   flops / (peak * efficiency * filled)  +  bytes / (bandwidth * efficiency)
//   the rest  bytes / (bandwidth * efficiency)
//   each kernel takes a few microseconds more, however small it is
//
// Arithmetic and memory time add up: a kernel begins and ends by moving data alone. `filled` is the
// part of the multiprocessors and of the 64-wide output tiles that a small product occupies. On tensor
// cores a Linear's efficiency grows with the depth of its product, depth / (depth + a tile's fixed cost);
// fused attention is two products forward and five backward, beside reading and writing its operands. A
// 3x3 or 5x5 convolution in fp32 is computed the way of Winograd (fewer products, more memory
// traffic) where that is faster, as cuDNN does. A backward product is run twice, for the gradient
// of its input and that of its weight.
//
// Source of the form: Williams et al., "Roofline" (2009); Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks" (2016). The efficiencies and their evidence are in
// src/layer_cost_constants.hpp; tests/unit/models/layer_cost_data_test.cpp shows the errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/optimizer.hpp"

namespace ddpsim {

/// How products are computed; parameters and their gradients are fp32 in each but the last.
enum class Precision {
  fp32,  ///< as PyTorch does by default: from sm_80 convolutions in TF32, matrix products in fp32
  tf32,  ///< fp32 with allow_tf32: from sm_80 matrix products in TF32, too
  amp,   ///< autocast to fp16
  bf16,  ///< autocast to bfloat16; from sm_80
  bf16_true,  ///< parameters, too, are bfloat16: nothing is cast; "bf16-true", as Lightning calls it
};
std::string_view name_of(Precision precision);
/// Whether products run in 16 bits.
bool is_half(Precision precision);
/// Whether weights and their gradients are cast for it.
bool casts_weights(Precision precision);
Dtype parameter_dtype(Precision precision);
std::optional<Precision> precision_from_name(std::string_view name);

struct ComputeSetting {
  GpuModel gpu;
  Precision precision = Precision::fp32;
  std::int64_t batch = 0;  ///< samples per GPU
};

struct LayerCost {
  Duration forward;
  Duration data_gradient;    ///< runs first
  Duration weight_gradient;  ///< then all gradients of the layer's parameters are written
  Duration backward() const { return data_gradient + weight_gradient; }
};
LayerCost layer_cost(const Layer& layer, const ComputeSetting& setting);

/// What the host launches for a layer: its kernels, and under autocast one that casts a weight for its product and one
/// that casts the weight's gradient back.
struct LayerKernels {
  int forward = 0;
  int backward = 0;
};
LayerKernels layer_kernels(const Layer& layer, Precision precision);

/// What models of this kind are mostly trained with: SGD with momentum for images, Adam for sequences.
Optimizer usual_optimizer(SampleKind kind);

/// Of the usual optimizer, its state in fp32 whatever the parameters are; in groups of kernels (foreach).
Duration optimizer_cost(const Model& model, const GpuModel& gpu);
int optimizer_kernels(const Model& model);

}  // namespace ddpsim
