#include "ddpsim/models/launches.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "ddpsim/models/model_flops.hpp"
#include "launch_constants.hpp"

namespace ddpsim {
namespace {

const ConvolutionKernels& convolution_kernels(const Layer& layer, const ComputeSetting& setting) {
  if (layer.channels_last) return kNhwc;
  return tensor_tflops(setting.gpu, setting.precision, true) > 0 ? kConverted : kNchw;
}

int gradients_of(const Layer& layer) {
  return (layer.gives_gradient() ? 1 : 0) + (layer.trains ? 1 : 0);
}

/// Kernels that a single operator runs in backward, as the layer states them. More than these are
/// operators of their own, such as sums of gradients.
int stated_for_one_backward(const Layer& layer) {
  if (layer.fused) return kFusedBackwardKernels;
  return gradients_of(layer) + layer.forward_kernels - 1;
}

/// What the layer itself calls: convolutions and fused attention run several kernels in one
/// operator.
LayerLaunches stated_launches(const Layer& layer, const ComputeSetting& setting) {
  if (layer.fused && !runs_fused(*layer.fused, setting)) return kWrittenOutAttention;
  const std::int64_t forward = layer.forward_kernels;
  const std::int64_t backward = layer.backward_kernels;
  const bool convolves = layer.kind == LayerKind::convolution;
  if (!convolves && !layer.fused)
    return {.forward = {.operators = forward, .kernels = forward},
            .backward = {.operators = backward, .kernels = backward}};
  const std::int64_t sums = std::max<std::int64_t>(backward - stated_for_one_backward(layer), 0);
  LayerLaunches all{.forward = {.operators = convolves ? 1 : forward, .kernels = forward},
                    .backward = {.operators = 1 + sums, .kernels = backward}};
  if (!convolves) return all;
  const ConvolutionKernels& kernels = convolution_kernels(layer, setting);
  // A bias, and its gradient, has a kernel of its own.
  all.forward.kernels += kernels.forward - 1;
  all.backward.kernels = kernels.backward * gradients_of(layer) / 2 + forward - 1 + sums;
  return all;
}

/// Launches beyond one kernel for each operator that the layer states.
LayerLaunches further_launches(const Layer& layer, const ComputeSetting& setting) {
  LayerLaunches more;
  if (layer.kind == LayerKind::embedding) more.backward.kernels = kEmbeddingBackward - 1;
  if (layer.product && layer.kind != LayerKind::convolution) {
    const bool wide = layer.single_precision || !is_half(setting.precision);
    if (wide) more.forward.kernels = 1;
    more.backward.kernels = (wide && layer.gives_gradient() ? 1 : 0) + (layer.trains ? 1 : 0);
  }
  if (layer.kind != LayerKind::normalization) return more;
  if (layer.single_precision) {
    // A norm that is written out states its kernels.
    more.backward.kernels = layer.backward_kernels == 1 ? kLayerNormBackward - 1 : 0;
    return more;
  }
  if (runs_native_batch_norm(setting.precision)) {
    more.forward.kernels =
        (layer.channels_last ? kNhwc.normalization_forward : kNativeBatchNormForward) - 1;
    if (layer.channels_last) more.backward.kernels = kNhwc.normalization_backward - 1;
  }
  // BatchNorm adds one to its count of batches.
  more.forward += {.operators = 1, .kernels = 1};
  return more;
}

/// What is cast between fp32 and half precision: weights and biases, which autocast casts once,
/// activations, and the gradients of both.
LayerLaunches casts(const Layer& layer, Precision precision) {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  const bool half_product = layer.product && layer.kind != LayerKind::attention &&
                            !layer.single_precision && casts_weights(precision);
  if (half_product) {
    const auto parameters = static_cast<std::int64_t>(layer.parameters.size());
    forward += std::max<std::int64_t>(parameters, layer.weights > 0 ? 1 : 0);
    backward += layer.trains ? parameters : 0;
  }
  if (converted_elements(layer, precision) > 0) {
    ++forward;
    backward += layer.gives_gradient() ? 1 : 0;
  } else if (layer.sums_branches && casts_weights(precision) && layer.autocast_width > 2 &&
             layer.autocast_width < 4) {
    ++backward;  // the gradient of the branch in half precision
  }
  LayerLaunches all;
  all.forward = {.operators = forward, .kernels = forward};
  all.backward = {.operators = backward, .kernels = backward};
  return all;
}

/// Lists of tensors that each kernel of a foreach optimizer reads and writes together.
std::span<const int> foreach_lists(Optimizer optimizer) {
  static constexpr std::array kSgd = {2};
  static constexpr std::array kMomentum = {1, 2, 2};
  // lerp, mul, addcmul, sqrt, div, add, addcdiv
  static constexpr std::array kAdam = {2, 1, 3, 2, 1, 1, 3};
  static constexpr std::array kAdamW = {1, 2, 1, 3, 2, 1, 1, 3};
  switch (optimizer) {
    case Optimizer::sgd:
      return kSgd;
    case Optimizer::momentum:
      return kMomentum;
    case Optimizer::adam:
      return kAdam;
    case Optimizer::adamw:
      break;
  }
  return kAdamW;
}

/// Lists of a fused optimizer: parameters, gradients and states.
int fused_lists(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return 2;
    case Optimizer::momentum:
      return 3;
    case Optimizer::adam:
    case Optimizer::adamw:
      break;
  }
  return 4;
}

/// Number of kernels that multi_tensor_apply launches for `lists` lists of tensors of these sizes.
std::int64_t kernels_for(std::span<const std::int64_t> sizes, int lists) {
  const int most_tensors = kMostTensors[static_cast<std::size_t>(lists - 1)];
  std::int64_t kernels = 0;
  int tensors = 0;
  std::int64_t blocks = 0;
  for (const std::int64_t size : sizes) {
    if (size == 0) continue;
    blocks += (size + kChunkElements - 1) / kChunkElements;
    ++tensors;
    const std::int64_t full = blocks / kMostBlocks;
    kernels += full;
    blocks %= kMostBlocks;
    if (full > 0) tensors = blocks > 0 ? 1 : 0;
    if (tensors == most_tensors) {
      ++kernels;
      tensors = 0;
      blocks = 0;
    }
  }
  return kernels + (blocks > 0 ? 1 : 0);
}

std::vector<std::int64_t> gradient_sizes(const Model& model) {
  std::vector<std::int64_t> sizes;
  for (const Parameter& parameter : model.parameters)
    if (!parameter.frozen)
      sizes.push_back(gradient_bytes(parameter)->count() / element_size(parameter.dtype));
  return sizes;
}

/// GradScaler of fp16 looks for infinities in all gradients and updates its scale.
Launched scaler_launches(std::span<const std::int64_t> sizes) {
  const std::int64_t checks = kernels_for(sizes, 1);
  return {.operators = kScalerOperators + 1,
          .kernels = kScalerOperators + checks,
          .listed = kScalerListed * static_cast<double>(sizes.size())};
}

}  // namespace

Launched& Launched::operator+=(const Launched& other) {
  operators += other.operators;
  kernels += other.kernels;
  listed += other.listed;
  return *this;
}

double Launched::host_work() const {
  const auto called = static_cast<double>(operators);
  return called + kFurtherKernel * (static_cast<double>(kernels) - called) + listed;
}

LayerLaunches layer_launches(const Layer& layer, const ComputeSetting& setting) {
  LayerLaunches all = casts(layer, setting.precision);
  for (const LayerLaunches& own :
       {stated_launches(layer, setting), further_launches(layer, setting)}) {
    all.forward += own.forward;
    all.backward += own.backward;
  }
  if (!layer.reached) all.backward = {};
  return all;
}

Launched optimizer_launches(const Model& model, Precision precision) {
  const Optimizer optimizer = model.optimizer.value_or(usual_optimizer(model.sample));
  const std::vector<std::int64_t> sizes = gradient_sizes(model);
  const bool few_passes =
      model.fused_optimizer || optimizer == Optimizer::sgd || optimizer == Optimizer::momentum;
  Launched all{.listed =
                   (few_passes ? kListedOnce : kListedByAdam) * static_cast<double>(sizes.size())};
  if (model.fused_optimizer) {
    all += {.operators = 1, .kernels = kernels_for(sizes, fused_lists(optimizer))};
  } else {
    for (const int lists : foreach_lists(optimizer))
      all += {.operators = 1, .kernels = kernels_for(sizes, lists)};
  }
  if (precision == Precision::amp) all += scaler_launches(sizes);
  return all;
}

}  // namespace ddpsim
