#include "resnet.hpp"

#include <cstddef>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kStemChannels = 64;
constexpr std::int64_t kClasses = 1000;

std::int64_t expansion(ResidualBlock block) {
  return block == ResidualBlock::bottleneck ? 4 : 1;
}

struct BlockChannels {
  std::int64_t in = 0;
  std::int64_t width = 0;
  std::int64_t out = 0;
  std::int64_t groups = 1;
  bool downsample = false;
};

void residual_block(ModuleRecorder& model, const std::string& prefix, ResidualBlock block,
                    const BlockChannels& channels) {
  if (block == ResidualBlock::basic) {
    model.conv2d(prefix + "conv1", channels.in, channels.width, 3);
    model.batch_norm(prefix + "bn1", channels.width);
    model.conv2d(prefix + "conv2", channels.width, channels.out, 3);
    model.batch_norm(prefix + "bn2", channels.out);
  } else {
    model.conv2d(prefix + "conv1", channels.in, channels.width, 1);
    model.batch_norm(prefix + "bn1", channels.width);
    model.conv2d(prefix + "conv2", channels.width, channels.width, 3, channels.groups);
    model.batch_norm(prefix + "bn2", channels.width);
    model.conv2d(prefix + "conv3", channels.width, channels.out, 1);
    model.batch_norm(prefix + "bn3", channels.out);
  }
  if (channels.downsample) {
    model.conv2d(prefix + "downsample.0", channels.in, channels.out, 1);
    model.batch_norm(prefix + "downsample.1", channels.out);
  }
}

}  // namespace

Model build_model(const std::string& name, const ResNetShape& shape) {
  ModuleRecorder model(name);
  model.conv2d("conv1", 3, kStemChannels, 7);
  model.batch_norm("bn1", kStemChannels);
  std::int64_t in = kStemChannels;
  for (std::size_t stage = 0; stage < shape.blocks_per_stage.size(); ++stage) {
    const std::int64_t planes = kStemChannels << stage;
    const std::int64_t width = (shape.groups * shape.width_per_group) << stage;
    const std::int64_t out = planes * expansion(shape.block);
    for (int block = 0; block < shape.blocks_per_stage[stage]; ++block) {
      const bool strided = block == 0 && stage > 0;
      residual_block(model, "layer" + std::to_string(stage + 1) + "." + std::to_string(block) + ".",
                     shape.block,
                     {.in = in,
                      .width = width,
                      .out = out,
                      .groups = shape.groups,
                      .downsample = strided || in != out});
      in = out;
    }
  }
  model.linear("fc", in, kClasses);
  return std::move(model).finish();
}

}  // namespace ddpsim
