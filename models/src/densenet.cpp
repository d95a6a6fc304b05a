#include "densenet.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

void dense_layer(ModuleRecorder& model, const std::string& prefix, std::int64_t in,
                 std::int64_t growth) {
  const std::int64_t bottleneck = 4 * growth;
  model.batch_norm(prefix + "norm1", in);
  model.conv2d(prefix + "conv1", in, bottleneck, 1);
  model.batch_norm(prefix + "norm2", bottleneck);
  model.conv2d(prefix + "conv2", bottleneck, growth, 3);
}

}  // namespace

Model build_model(const std::string& name, const DenseNetShape& shape) {
  std::int64_t channels = 2 * shape.growth;
  ModuleRecorder model(name);
  model.conv2d("features.conv0", 3, channels, 7);
  model.batch_norm("features.norm0", channels);
  for (std::size_t block = 0; block < shape.layers_per_block.size(); ++block) {
    const std::string number = std::to_string(block + 1);
    for (int layer = 1; layer <= shape.layers_per_block[block]; ++layer) {
      dense_layer(model,
                  "features.denseblock" + number + ".denselayer" + std::to_string(layer) + ".",
                  channels, shape.growth);
      channels += shape.growth;
    }
    if (block + 1 == shape.layers_per_block.size()) break;
    model.batch_norm("features.transition" + number + ".norm", channels);
    model.conv2d("features.transition" + number + ".conv", channels, channels / 2, 1);
    channels /= 2;
  }
  model.batch_norm("features.norm5", channels);
  model.linear("classifier", channels, 1000);
  return std::move(model).finish();
}

}  // namespace ddpsim
