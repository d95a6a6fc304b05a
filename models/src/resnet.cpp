#include "resnet.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kStemChannels = 64;

std::int64_t expansion(ResidualBlock block) {
  return block == ResidualBlock::bottleneck ? 4 : 1;
}

struct BlockChannels {
  std::int64_t width = 0;
  std::int64_t out = 0;
  std::int64_t groups = 1;
  std::int64_t stride = 1;  ///< stride of the 3x3 convolution
  bool downsample = false;
};

Convolution conv3x3(std::int64_t out, std::int64_t stride = 1, std::int64_t groups = 1) {
  return {.out = out, .kernel = {3, 3}, .stride = stride, .padding = {1, 1}, .groups = groups};
}

void residual_block(ModuleRecorder& model, const std::string& prefix, ResidualBlock block,
                    const BlockChannels& channels) {
  const Activation input = model.activation();
  const auto unit = [&](const std::string& number, const Convolution& convolution, bool last) {
    model.conv2d(prefix + "conv" + number, convolution);
    model.batch_norm(prefix + "bn" + number);
    if (!last) model.relu(prefix + "relu" + number);
  };
  if (block == ResidualBlock::basic) {
    unit("1", conv3x3(channels.width, channels.stride), false);
    unit("2", conv3x3(channels.out), true);
  } else {
    unit("1", {.out = channels.width}, false);
    unit("2", conv3x3(channels.width, channels.stride, channels.groups), false);
    unit("3", {.out = channels.out}, true);
  }
  if (channels.downsample) {
    model.continue_from(input);
    model.conv2d(prefix + "downsample.0", {.out = channels.out, .stride = channels.stride});
    model.batch_norm(prefix + "downsample.1");
    model.free_output();
  }
  model.add_in_place(prefix + "add", input);
  model.relu(prefix + "relu");
}

}  // namespace

Model build_model(const std::string& name, const ResNetShape& shape, std::int64_t size) {
  ModuleRecorder model(name, {.channels = 3, .height = size, .width = size});
  model.conv2d("conv1", {.out = kStemChannels, .kernel = {7, 7}, .stride = 2, .padding = {3, 3}});
  model.batch_norm("bn1");
  model.relu("relu");
  model.max_pool("maxpool", {.size = 3, .stride = 2, .padding = 1});
  for (std::size_t stage = 0; stage < shape.blocks_per_stage.size(); ++stage) {
    const std::int64_t planes = kStemChannels << stage;
    const std::int64_t width = (shape.groups * shape.width_per_group) << stage;
    const std::int64_t out = planes * expansion(shape.block);
    for (int block = 0; block < shape.blocks_per_stage[stage]; ++block) {
      const bool strided = block == 0 && stage > 0;
      residual_block(model, "layer" + std::to_string(stage + 1) + "." + std::to_string(block) + ".",
                     shape.block,
                     {.width = width,
                      .out = out,
                      .groups = shape.groups,
                      .stride = strided ? 2 : 1,
                      .downsample = strided || model.activation().channels != out});
    }
  }
  model.adaptive_average_pool("avgpool", 1);
  model.linear("fc", kImageNetClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
