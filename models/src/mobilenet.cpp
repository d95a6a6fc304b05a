#include "mobilenet.hpp"

#include <utility>

#include "inverted_residual.hpp"

namespace ddpsim {
namespace {

constexpr Convolution halving3x3(std::int64_t out) {
  return {.out = out, .kernel = {3, 3}, .stride = 2, .padding = {.height = 1, .width = 1}};
}

}  // namespace

Model build_model(const std::string& name, const MobileNetV2Shape& /*shape*/, std::int64_t size) {
  struct Stage {
    std::int64_t expansion;
    std::int64_t out;
    std::int64_t blocks;
    std::int64_t stride;
  };
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  constexpr std::int64_t kLast = 1280;
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  convolve_and_norm(model, "features.0", halving3x3(32), MapActivation::copied);
  std::size_t number = 1;
  for (const Stage& stage : kStages)
    for (std::int64_t block = 0; block < stage.blocks; ++block) {
      InvertedResidual residual;
      residual.expanded = model.activation().channels * stage.expansion;
      residual.stride = block == 0 ? stage.stride : 1;
      residual.out = stage.out;
      residual.flat_projection = true;
      run_inverted_residual(model, "features." + std::to_string(number++) + ".conv", residual);
    }
  convolve_and_norm(model, "features." + std::to_string(number), {.out = kLast},
                    MapActivation::copied);
  model.adaptive_average_pool("avgpool", 1);
  model.dropout("classifier.0");
  model.linear("classifier.1", kImageNetClasses);
  return std::move(model).finish();
}

Model build_model(const std::string& name, const MobileNetV3Shape& shape, std::int64_t size) {
  constexpr std::int64_t kStem = 16;
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  convolve_and_norm(model, "features.0", halving3x3(kStem), MapActivation::copied);
  std::size_t number = 1;
  for (const MobileNetV3Block& block : shape.blocks) {
    InvertedResidual residual;
    residual.expanded = block.expanded;
    residual.kernel = block.kernel;
    residual.stride = block.stride;
    residual.out = block.out;
    residual.squeezed =
        block.weighs ? multiple_of_eight(static_cast<double>(block.expanded / 4)) : 0;
    residual.activation = block.swish ? MapActivation::copied : MapActivation::relu;
    residual.squeezed_activation = MapActivation::relu;
    residual.adds_in_place = true;
    run_inverted_residual(model, "features." + std::to_string(number++) + ".block", residual);
  }
  convolve_and_norm(model, "features." + std::to_string(number),
                    {.out = 6 * model.activation().channels}, MapActivation::copied);
  model.adaptive_average_pool("avgpool", 1);
  model.linear("classifier.0", shape.last);
  activate_map(model, "classifier.1", MapActivation::copied);
  model.dropout("classifier.2");
  model.linear("classifier.3", kImageNetClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
