#include "inverted_residual.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

/// Weighs each channel by what two layers make of its mean.
void squeeze_and_excite(ModuleRecorder& model, const std::string& name,
                        const InvertedResidual& block) {
  const Activation map = model.activation();
  model.elementwise(name + ".avgpool", {.forward = 1, .backward = 4, .kept = 0});
  ModuleRecorder::Passes passes = {.forward = 2, .backward = 3};
  model.continue_from({.channels = map.channels});
  model.conv2d(name + ".fc1", {.out = block.squeezed, .bias = true});
  activate_map(model, name + ".activation", block.squeezed_activation);
  model.conv2d(name + ".fc2", {.out = map.channels, .bias = true});
  model.elementwise(name + ".scale_activation", passes);
  model.continue_from(map);
  passes = {.forward = 2, .backward = 6};
  model.elementwise(name + ".scale", passes);
}

}  // namespace

void activate_map(ModuleRecorder& model, const std::string& name, MapActivation activation) {
  if (activation == MapActivation::relu) model.relu(name);
  if (activation != MapActivation::copied) return;
  model.elementwise(name + ".copy", {.forward = 2, .backward = 3});
  model.elementwise(name, {.forward = 2, .kept = 0});
}

void convolve_and_norm(ModuleRecorder& model, const std::string& name,
                       const Convolution& convolution, MapActivation activation) {
  model.conv2d(name + ".0", convolution);
  model.batch_norm(name + ".1");
  activate_map(model, name + ".2", activation);
}

void run_inverted_residual(ModuleRecorder& model, const std::string& name,
                           const InvertedResidual& block) {
  const Activation input = model.activation();
  int place = 0;
  const auto next = [&] { return name + "." + std::to_string(place++); };
  const std::int64_t around = (block.kernel - 1) / 2;
  Convolution across = {.out = block.expanded,
                        .kernel = {.height = block.kernel, .width = block.kernel},
                        .stride = block.stride,
                        .padding = {.height = around, .width = around}};
  const bool widens = block.expanded != input.channels;
  if (block.fused) {
    if (!widens) across.out = block.out;
    convolve_and_norm(model, next(), across, block.activation);
  } else {
    if (widens) convolve_and_norm(model, next(), {.out = block.expanded}, block.activation);
    across.groups = block.expanded;
    convolve_and_norm(model, next(), across, block.activation);
  }
  if (block.squeezed > 0) squeeze_and_excite(model, next(), block);
  if (block.flat_projection) {
    model.conv2d(next(), {.out = block.out});
    model.batch_norm(next());
  } else if (!block.fused || widens) {
    convolve_and_norm(model, next(), {.out = block.out}, MapActivation::none);
  }
  if (block.stride > 1 || block.out != input.channels) return;
  if (block.drops_samples)
    model.elementwise(name + ".stochastic_depth", {.forward = 2, .backward = 2});
  if (block.adds_in_place)
    model.add_in_place(name + ".add", input);
  else
    model.add(name + ".add", input);
}

std::int64_t multiple_of_eight(double channels) {
  const auto near = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(near) < 0.9 * channels ? near + 8 : near;
}

}  // namespace ddpsim
