#include "swin.hpp"

#include <utility>

#include "module_recorder.hpp"
#include "transformer_block.hpp"

namespace ddpsim {
namespace {

/// The blocks of one stage over a map of `side` patches per side. Attention stays within a window.
/// The heads of one window are recorded, once for each window.
BlockModules swin_block(const SwinShape& shape, std::int64_t features, std::int64_t heads) {
  const std::int64_t window = shape.window;
  const std::string attention = "attention.";
  BlockModules block;
  block.hidden = features;
  block.attention = {
      .hidden = features,
      .heads = heads,
      .key_heads = heads,
      .head_features = features / heads,
      .query = {attention + "q_proj", shape.bias},
      .key = {attention + "k_proj", shape.bias},
      .value = {attention + "v_proj", shape.bias},
      .output = {attention + "o_proj", true},
      .score_table = attention + "relative_position_bias.relative_position_bias_table",
      .score_rows = (2 * window - 1) * (2 * window - 1),
      .window = window * window};
  block.around_attention.before = {.name = "layernorm_before", .bias = true};
  block.feed_forward = {
      .features = static_cast<std::int64_t>(shape.ratio * static_cast<double>(features)),
      .gate = {},
      .up = {"mlp.fc1", true},
      .down = {"mlp.fc2", true}};
  block.around_feed_forward.before = {.name = "layernorm_after", .bias = true};
  block.defined =
      "attention.q_proj attention.k_proj attention.v_proj attention.o_proj "
      "attention.relative_position_bias layernorm_before layernorm_after mlp";
  return block;
}

}  // namespace

Model build_model(const std::string& name, const SwinShape& shape, std::int64_t size,
                  AttentionKernel attention) {
  const std::string base = shape.labels > 0 ? "swin." : "";
  ModuleRecorder model(name, {.channels = shape.channels, .height = size, .width = size},
                       attention);
  model.conv2d(base + "embeddings.patch_embeddings.projection",
               {.out = shape.features,
                .kernel = {.height = shape.patch, .width = shape.patch},
                .stride = shape.patch,
                .bias = true});
  std::int64_t side = model.activation().height;
  std::int64_t features = shape.features;
  model.continue_from({.channels = features, .height = side * side});
  model.layer_norm(base + "embeddings.norm");
  if (shape.positions) {
    model.elementwise(base + "embeddings.add_positions", {.forward = 2, .backward = 2, .kept = 0});
    model.with_parameter(base + "embeddings.position_embeddings", {1, side * side, features});
  }
  for (std::size_t stage = 0; stage < shape.depths.size(); ++stage) {
    const std::string prefix = base + "encoder.layers." + std::to_string(stage) + ".";
    const BlockModules block = swin_block(shape, features, shape.heads[stage]);
    for (std::int64_t depth = 0; depth < shape.depths[stage]; ++depth) {
      run_block(model, prefix + "blocks." + std::to_string(depth) + ".", block);
      // relative_position_index
      model.buffer(Dtype::int64, shape.window * shape.window * shape.window * shape.window);
    }
    if (stage + 1 == shape.depths.size()) break;
    side = (side + 1) / 2;
    const std::size_t first = model.defined();
    model.continue_from({.channels = 4 * features, .height = side * side});
    model.layer_norm(prefix + "downsample.norm");
    features *= 2;
    model.linear(prefix + "downsample.reduction", features, false);
    model.define_in_order(first, prefix, "downsample.reduction downsample.norm");
  }
  model.layer_norm(base + "layernorm");
  if (shape.labels > 0) {
    model.continue_from({.channels = features});
    model.linear("classifier", shape.labels);
    model.cross_entropy("loss");
  }
  model.define_in_order(0, "",
                        base + "embeddings.position_embeddings " + base +
                            "embeddings.patch_embeddings " + base + "embeddings.norm " + base +
                            "encoder " + base + "layernorm classifier");
  return std::move(model).finish();
}

}  // namespace ddpsim
