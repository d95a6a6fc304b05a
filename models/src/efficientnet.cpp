#include "efficientnet.hpp"

#include <utility>

#include "inverted_residual.hpp"

namespace ddpsim {

EfficientNetShape efficientnet(double width, double depth) {
  EfficientNetShape shape = {.stem = 32,
                             .stages = {{1, 3, 1, 16, 1},
                                        {6, 3, 2, 24, 2},
                                        {6, 5, 2, 40, 2},
                                        {6, 3, 2, 80, 3},
                                        {6, 5, 1, 112, 3},
                                        {6, 5, 2, 192, 4},
                                        {6, 3, 1, 320, 1}},
                             .last = 0};
  const auto wider = [&](std::int64_t channels) {
    return multiple_of_eight(width * static_cast<double>(channels));
  };
  shape.stem = wider(shape.stem);
  for (EfficientNetStage& stage : shape.stages) {
    stage.out = wider(stage.out);
    const double blocks = depth * static_cast<double>(stage.blocks);
    stage.blocks = static_cast<std::int64_t>(blocks);
    if (static_cast<double>(stage.blocks) < blocks) ++stage.blocks;
  }
  shape.last = 4 * shape.stages.back().out;
  return shape;
}

Model build_model(const std::string& name, const EfficientNetShape& shape, std::int64_t size) {
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  const Convolution stem = {
      .out = shape.stem, .kernel = {3, 3}, .stride = 2, .padding = {.height = 1, .width = 1}};
  convolve_and_norm(model, "features.0", stem, MapActivation::copied);
  std::size_t number = 1;
  bool first = true;
  for (const EfficientNetStage& stage : shape.stages) {
    const std::string prefix = "features." + std::to_string(number++) + ".";
    for (std::int64_t block = 0; block < stage.blocks; ++block) {
      const std::int64_t in = model.activation().channels;
      run_inverted_residual(model, prefix + std::to_string(block) + ".block",
                            {.expanded = in * stage.expansion,
                             .kernel = stage.kernel,
                             .stride = block == 0 ? stage.stride : 1,
                             .out = stage.out,
                             .squeezed = stage.fused ? 0 : in / 4,
                             .fused = stage.fused,
                             .drops_samples = !std::exchange(first, false),
                             .adds_in_place = true});
    }
  }
  convolve_and_norm(model, "features." + std::to_string(number), {.out = shape.last},
                    MapActivation::copied);
  model.adaptive_average_pool("avgpool", 1);
  model.dropout("classifier.0");
  model.linear("classifier.1", kImageNetClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
