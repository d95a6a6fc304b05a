#include "torchvision_convnext.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void convnext_block(ModuleRecorder& model, const std::string& prefix, bool drops_samples) {
  constexpr std::int64_t kSide = 7;
  const Activation given = model.activation();
  const std::int64_t features = given.channels;
  const std::size_t first = model.defined();
  model.conv2d(prefix + "block.0", {.out = features,
                                    .kernel = {.height = kSide, .width = kSide},
                                    .padding = {.height = kSide / 2, .width = kSide / 2},
                                    .groups = features,
                                    .bias = true});
  model.layer_norm(prefix + "block.2");
  model.linear(prefix + "block.3", 4 * features);
  model.gelu(prefix + "block.4");
  model.linear(prefix + "block.5", features);
  model.elementwise(prefix + "layer_scale", {.forward = 2, .backward = 6, .kernels = 2});
  model.with_parameter(prefix + "layer_scale", {features, 1, 1});
  if (drops_samples) model.elementwise(prefix + "stochastic_depth", {.forward = 2, .backward = 2});
  model.add(prefix + "add", given);
  model.define_in_order(first, prefix, "layer_scale block");
}

}  // namespace

Model build_model(const std::string& name, const TorchvisionConvNextShape& shape,
                  std::int64_t size) {
  constexpr std::int64_t kPatch = 4;
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  model.conv2d("features.0.0", {.out = shape.features,
                                .kernel = {.height = kPatch, .width = kPatch},
                                .stride = kPatch,
                                .bias = true});
  model.layer_norm("features.0.1");
  bool first = true;
  for (std::size_t stage = 0; stage < shape.depths.size(); ++stage) {
    if (stage > 0) {
      const std::string between = "features." + std::to_string(2 * stage) + ".";
      model.layer_norm(between + "0");
      model.conv2d(
          between + "1",
          {.out = 2 * model.activation().channels, .kernel = {2, 2}, .stride = 2, .bias = true});
    }
    const std::string prefix = "features." + std::to_string(2 * stage + 1) + ".";
    for (std::int64_t depth = 0; depth < shape.depths[stage]; ++depth)
      convnext_block(model, prefix + std::to_string(depth) + ".", !std::exchange(first, false));
  }
  model.adaptive_average_pool("avgpool", 1);
  model.layer_norm("classifier.0");
  model.linear("classifier.2", kImageNetClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
