#include "densenet.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

/// Copies its input, which concatenates all features of the block so far. Backward sums the
/// gradients that this layer and all later layers have for each feature.
void dense_layer(ModuleRecorder& model, const std::string& prefix, std::int64_t growth) {
  const Activation features = model.activation();
  model.elementwise(prefix + "concat", {.forward = 2, .backward = 3});
  model.batch_norm(prefix + "norm1");
  model.relu(prefix + "relu1");
  model.conv2d(prefix + "conv1", {.out = 4 * growth});
  model.batch_norm(prefix + "norm2");
  model.relu(prefix + "relu2");
  model.conv2d(prefix + "conv2", {.out = growth, .kernel = {3, 3}, .padding = {1, 1}});
  model.free_output();
  model.continue_from(
      {.channels = features.channels + growth, .height = features.height, .width = features.width});
}

}  // namespace

Model build_model(const std::string& name, const DenseNetShape& shape, std::int64_t size) {
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  model.conv2d("features.conv0",
               {.out = 2 * shape.growth, .kernel = {7, 7}, .stride = 2, .padding = {3, 3}});
  model.batch_norm("features.norm0");
  model.relu("features.relu0");
  model.max_pool("features.pool0", {.size = 3, .stride = 2, .padding = 1});
  for (std::size_t block = 0; block < shape.layers_per_block.size(); ++block) {
    const std::string number = std::to_string(block + 1);
    for (int layer = 1; layer <= shape.layers_per_block[block]; ++layer)
      dense_layer(model,
                  "features.denseblock" + number + ".denselayer" + std::to_string(layer) + ".",
                  shape.growth);
    if (block + 1 == shape.layers_per_block.size()) break;
    const std::string transition = "features.transition" + number;
    model.batch_norm(transition + ".norm");
    model.relu(transition + ".relu");
    model.conv2d(transition + ".conv", {.out = model.activation().channels / 2});
    model.average_pool(transition + ".pool", {.size = 2, .stride = 2});
  }
  model.batch_norm("features.norm5");
  model.relu("relu");
  model.adaptive_average_pool("avgpool", 1);
  model.linear("classifier", kImageNetClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
