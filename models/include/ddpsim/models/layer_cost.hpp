// Estimates how long a GPU takes for a layer, from data sheet values. This is a roofline that can
// be explained, not a measurement.
//
//   product   flops / (peak * efficiency * filled)  +  bytes / (bandwidth * efficiency)
//   the rest  bytes / (bandwidth * efficiency)
//   each kernel takes a few microseconds more, however small it is
//
// Arithmetic time and memory time add up, because a kernel only moves data while it begins and
// ends. `filled` is the share of the multiprocessors and of the 64-wide output tiles that a small
// product occupies. On tensor cores the efficiency of a Linear grows with the depth of its product:
// depth / (depth + a tile's fixed cost). Fused attention runs two products in forward and five in
// backward, and also reads and writes its operands. A 3x3 or 5x5 convolution in fp32 uses
// Winograd's algorithm if that is faster, as cuDNN does. It needs fewer products and more memory
// traffic. Backward runs each product twice: for the gradient of its input and for that of its
// weight.
//
// Source of the form: Williams et al., "Roofline" (2009); Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks" (2016). The efficiencies and their evidence are in
// src/layer_cost_constants.hpp. tests/unit/models/layer_cost_data_test.cpp shows the errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/optimizer.hpp"

namespace ddpsim {

/// How products are computed. Parameters and their gradients are fp32 except with `bf16_true`.
enum class Precision {
  /// PyTorch's default: from sm_80 on, convolutions run in TF32 and matrix products in fp32.
  fp32,
  /// fp32 with allow_tf32: from sm_80 on, matrix products run in TF32 as well.
  tf32,
  amp,   ///< autocast to fp16
  bf16,  ///< autocast to bfloat16; from sm_80
  /// Parameters are bfloat16 too, so nothing is cast. Lightning calls it "bf16-true".
  bf16_true,
};
std::string_view name_of(Precision precision);
/// Whether products run in 16 bits.
bool is_half(Precision precision);
/// Whether weights and their gradients are cast for the products.
bool casts_weights(Precision precision);
/// Elements per sample that a layer's forward converts between fp32 and half precision in a kernel
/// of its own. Backward converts their gradients back.
std::int64_t converted_elements(const Layer& layer, Precision precision);
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
  Duration weight_gradient;  ///< runs after `data_gradient`; then all parameter gradients exist
  Duration backward() const { return data_gradient + weight_gradient; }
};
LayerCost layer_cost(const Layer& layer, const ComputeSetting& setting);

/// Whether scaled_dot_product_attention has a fused kernel for it. If heads share keys, only Flash
/// and cuDNN's kernel do, which need 16 bits and sm_80. The memory-efficient kernel refuses such
/// heads (check_batch_size_and_num_heads_dense<false> in aten's cuda/sdp_utils.cpp, PyTorch 2.13).
bool runs_fused(const FusedAttention& attention, const ComputeSetting& setting);

/// Whether BatchNorm runs PyTorch's own kernels: in bfloat16 cuDNN's are not used.
bool runs_native_batch_norm(Precision precision);

/// The most common optimizer for this kind of model: SGD with momentum for images, Adam for
/// sequences.
Optimizer usual_optimizer(SampleKind kind);

/// Time of the usual optimizer in its foreach form (grouped kernels). Its state is fp32 whatever
/// the parameters are.
Duration optimizer_cost(const Model& model, const GpuModel& gpu);

}  // namespace ddpsim
