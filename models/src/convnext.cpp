#include "convnext.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void convnext_layer(ModuleRecorder& model, const std::string& prefix, const ConvNextShape& shape,
                    std::int64_t features) {
  constexpr std::int64_t kSide = 7;
  const std::size_t first = model.defined();
  const Activation given = model.activation();
  model.conv2d(prefix + "dwconv", {.out = features,
                                   .kernel = {.height = kSide, .width = kSide},
                                   .padding = {.height = kSide / 2, .width = kSide / 2},
                                   .groups = features,
                                   .bias = true});
  model.layer_norm(prefix + "layernorm");
  model.linear(prefix + "pwconv1", 4 * features);
  model.gelu(prefix + "act");
  if (shape.normalizes_responses) {
    model.elementwise(prefix + "grn", {.forward = 6, .backward = 10, .kernels = 6});
    model.with_parameter(prefix + "grn.bias", {1, 1, 1, 4 * features});
    model.with_parameter(prefix + "grn.weight", {1, 1, 1, 4 * features});
  }
  model.linear(prefix + "pwconv2", features);
  if (shape.scales) {
    model.elementwise(prefix + "layer_scale", {.forward = 2, .backward = 4});
    model.with_parameter(prefix + "layer_scale_parameter", {features});
  }
  model.add(prefix + "add", given);
  model.define_in_order(
      first, prefix, "layer_scale_parameter dwconv layernorm pwconv1 grn.weight grn.bias pwconv2");
}

}  // namespace

Model build_model(const std::string& name, const ConvNextShape& shape, std::int64_t size,
                  AttentionKernel /*attention*/) {
  ModuleRecorder model(name, {.channels = shape.channels, .height = size, .width = size});
  const std::string& base = shape.base;
  model.conv2d(base + "embeddings.patch_embeddings",
               {.out = shape.features.front(),
                .kernel = {.height = shape.patch, .width = shape.patch},
                .stride = shape.patch,
                .bias = true});
  model.layer_norm(base + "embeddings.layernorm");
  for (std::size_t stage = 0; stage < shape.depths.size(); ++stage) {
    const std::string prefix = base + "encoder.stages." + std::to_string(stage) + ".";
    if (stage > 0) {
      model.layer_norm(prefix + "downsampling_layer.0");
      model.conv2d(prefix + "downsampling_layer.1", {.out = shape.features[stage],
                                                     .kernel = {.height = 2, .width = 2},
                                                     .stride = 2,
                                                     .bias = true});
    }
    for (std::int64_t layer = 0; layer < shape.depths[stage]; ++layer)
      convnext_layer(model, prefix + "layers." + std::to_string(layer) + ".", shape,
                     shape.features[stage]);
  }
  model.continue_from({.channels = shape.features.back()});
  model.layer_norm(base + "layernorm");
  if (shape.labels > 0) {
    model.linear("classifier", shape.labels);
    model.cross_entropy("loss");
  }
  return std::move(model).finish();
}

}  // namespace ddpsim
