#include "unet.hpp"

#include <utility>

#include "module_recorder.hpp"
#include "transformer_block.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLatentChannels = 4;
constexpr std::int64_t kTextTokens = 77;
constexpr std::int64_t kBlocksOfLevel = 2;  ///< one more on the way up
constexpr ModuleRecorder::Passes kCopied = {.forward = 2, .backward = 2, .kept = 0};

Convolution around3x3(std::int64_t out, std::int64_t stride = 1) {
  return {.out = out,
          .kernel = {3, 3},
          .stride = stride,
          .padding = {.height = 1, .width = 1},
          .bias = true};
}

class UNetWriter {
 public:
  UNetWriter(ModuleRecorder& model, const UNetShape& shape)
      : model_(model), shape_(shape), embedded_(4 * shape.levels.front().channels) {}

  void embed(const std::string& name, std::int64_t features) {
    model_.continue_from({.channels = features, .single = true});
    model_.linear(name + ".linear_1", embedded_);
    model_.reads_given();
    model_.silu(name + ".act");
    model_.linear(name + ".linear_2", embedded_);
  }

  void go_down() {
    const Activation latents = model_.activation();
    embed("time_embedding", shape_.levels.front().channels);
    if (shape_.added_features > 0) {
      const Activation time = model_.activation();
      embed("add_embedding", shape_.added_features);
      model_.add("add_embedding.add", time);
    }
    model_.continue_from(latents);
    model_.conv2d("conv_in", around3x3(shape_.levels.front().channels));
    model_.reads_given();
    skip();
    for (std::size_t k = 0; k < shape_.levels.size(); ++k) {
      const UNetLevel& level = shape_.levels[k];
      const std::string prefix = "down_blocks." + std::to_string(k) + ".";
      const std::size_t first = model_.defined();
      for (std::int64_t block = 0; block < kBlocksOfLevel; ++block) {
        run_pair(prefix, block, level);
        skip();
      }
      if (k + 1 < shape_.levels.size()) {
        model_.conv2d(prefix + "downsamplers.0.conv", around3x3(level.channels, 2));
        skip();
      }
      model_.define_in_order(first, prefix, kOrder);
    }
  }

  void go_across() {
    const std::size_t first = model_.defined();
    const UNetLevel& level = shape_.levels.back();
    UNetLevel middle = level;
    for (auto before = shape_.levels.rbegin(); middle.layers == 0; ++before)
      middle.layers = before->layers;
    run_residual("mid_block.resnets.0.", level.channels);
    run_transformer("mid_block.attentions.0.", middle);
    run_residual("mid_block.resnets.1.", level.channels);
    model_.define_in_order(first, "mid_block.", kOrder);
  }

  void go_up() {
    for (std::size_t k = 0; k < shape_.levels.size(); ++k) {
      const UNetLevel& level = shape_.levels[shape_.levels.size() - 1 - k];
      const std::string prefix = "up_blocks." + std::to_string(k) + ".";
      const std::size_t first = model_.defined();
      for (std::int64_t block = 0; block < kBlocksOfLevel + 1; ++block) {
        model_.concatenate(prefix + "cat", model_.activation().channels + skipped_.back().channels);
        skipped_.pop_back();
        run_pair(prefix, block, level);
      }
      if (k + 1 < shape_.levels.size()) {
        Activation larger = model_.activation();
        larger.height *= 2;
        larger.width *= 2;
        model_.continue_from(larger);
        model_.elementwise(prefix + "upsamplers.0.interpolate", kCopied);
        model_.conv2d(prefix + "upsamplers.0.conv", around3x3(level.channels));
      }
      model_.define_in_order(first, prefix, kOrder);
    }
  }

 private:
  static constexpr const char* kOrder = "attentions resnets downsamplers upsamplers";

  /// The way up reads this map again.
  void skip() {
    model_.sums_gradients(2);
    skipped_.push_back(model_.activation());
  }

  void run_pair(const std::string& prefix, std::int64_t block, const UNetLevel& level) {
    const std::string number = std::to_string(block) + ".";
    run_residual(prefix + "resnets." + number, level.channels);
    if (level.layers > 0) run_transformer(prefix + "attentions." + number, level);
  }

  void run_residual(const std::string& prefix, std::int64_t channels) {
    const Activation input = model_.activation();
    model_.layer_norm(prefix + "norm1");
    model_.silu(prefix + "nonlinearity");
    model_.conv2d(prefix + "conv1", around3x3(channels));
    const Activation map = model_.activation();
    model_.continue_from({.channels = embedded_});
    model_.silu(prefix + "time_emb_proj.silu");
    model_.linear(prefix + "time_emb_proj", channels);
    model_.continue_from(map);
    model_.elementwise(prefix + "add_time", {.forward = 2, .backward = 1});
    model_.layer_norm(prefix + "norm2");
    model_.silu(prefix + "nonlinearity2");
    model_.conv2d(prefix + "conv2", around3x3(channels));
    Activation branch = input;
    if (input.channels != channels) {
      model_.continue_from(input);
      model_.conv2d(prefix + "conv_shortcut", {.out = channels, .bias = true});
      branch = model_.activation();
    }
    model_.elementwise(prefix + "output_scale", {.forward = 2, .backward = 2});
    model_.add(prefix + "add", branch);
  }

  BlockModules transformer_block(const UNetLevel& level) const {
    BlockModules block;
    block.hidden = level.channels;
    const auto attention = [&](const std::string& name) {
      AttentionModules modules;
      modules.hidden = level.channels;
      modules.heads = modules.key_heads = level.heads;
      modules.head_features = level.channels / level.heads;
      modules.query = {name + ".to_q"};
      modules.key = {name + ".to_k"};
      modules.value = {name + ".to_v"};
      modules.output = {name + ".to_out.0", true};
      return modules;
    };
    block.attention = attention("attn1");
    block.around_attention.before = {.name = "norm1", .bias = true};
    block.cross = attention("attn2");
    block.cross->given_memory = true;
    block.around_cross.before = {.name = "norm2", .bias = true};
    block.feed_forward = {.features = 4 * level.channels,
                          .gate = {},
                          .up = {"ff.net.0.proj", true},
                          .down = {"ff.net.2", true},
                          .gate_in_up = true};
    block.around_feed_forward.before = {.name = "norm3", .bias = true};
    return block;
  }

  void project(const std::string& name, std::int64_t channels) {
    if (shape_.linear_projection)
      model_.linear(name, channels);
    else
      model_.conv2d(name, {.out = channels, .bias = true});
  }

  void run_transformer(const std::string& prefix, const UNetLevel& level) {
    const Activation map = model_.activation();
    model_.layer_norm(prefix + "norm");
    project(prefix + "proj_in", level.channels);
    const BlockModules block = transformer_block(level);
    for (std::int64_t layer = 0; layer < level.layers; ++layer)
      run_block(model_, prefix + "transformer_blocks." + std::to_string(layer) + ".", block,
                {.channels = shape_.text_features, .height = kTextTokens});
    model_.elementwise(prefix + "to_map", kCopied);
    project(prefix + "proj_out", level.channels);
    model_.add(prefix + "add", map);
  }

  ModuleRecorder& model_;
  const UNetShape& shape_;
  std::int64_t embedded_;
  std::vector<Activation> skipped_;  ///< maps that the way up reads again
};

}  // namespace

Model build_model(const std::string& name, const UNetShape& shape, std::int64_t size,
                  AttentionKernel attention) {
  ModuleRecorder model(name, {.channels = kLatentChannels, .height = size, .width = size},
                       attention);
  UNetWriter unet(model, shape);
  unet.go_down();
  unet.go_across();
  unet.go_up();
  model.layer_norm("conv_norm_out");
  model.silu("conv_act");
  model.conv2d("conv_out", around3x3(kLatentChannels));
  model.define_in_order(0, "",
                        "conv_in time_embedding add_embedding down_blocks up_blocks mid_block "
                        "conv_norm_out conv_out");
  return std::move(model).finish();
}

}  // namespace ddpsim
