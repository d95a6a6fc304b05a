#include "config_images.hpp"

#include <fmt/format.h>

namespace ddpsim {

ReadVision read_tower(Config& config, const std::string& base, const VitDefaults& usual,
                      const char* block_order) {
  ReadVision read = read_vision(config, base, usual);
  VisionShape& shape = read.shape;
  shape.block =
      tower_block(shape.hidden, read.heads, read_feed_forward(config, usual), block_order);
  shape.patches = {"embeddings.patch_embedding", true};
  shape.block_prefix = "encoder.layers.";
  shape.position_table = "embeddings.position_embedding";
  shape.position_rows = read.patches;
  shape.last_norm = {.name = "post_layernorm", .bias = true};
  shape.defined =
      "embeddings.class_embedding embeddings.patch_embedding embeddings.position_embedding "
      "pre_layrnorm encoder post_layernorm head";
  return read;
}

void require_patches(const Config& config, std::int64_t side) {
  if (side < 1 || side * side > kMostTokens)
    config.refuse("patch_size",
                  fmt::format("an image of 1 to {} patches is expected", kMostTokens));
}

std::int64_t read_side(Config& config, std::string_view key, std::int64_t usual) {
  const auto given = config.optional(key);
  if (!given || !given->is_array()) return config.number(key, usual, kMostPixels);
  const auto sides = *config.numbers(key, kMostPixels);
  if (sides.size() != 2 || sides[0] != sides[1] || sides[0] < 1)
    given->fail("an image or a patch that is not square is not supported",
                "Record the job instead");
  return sides[0];
}

ReadVision read_vision(Config& config, const std::string& base, const VitDefaults& usual) {
  ReadVision read;
  VisionShape& shape = read.shape;
  shape.base = base;
  shape.hidden = config.number("hidden_size", usual.hidden, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", usual.layers, kMostLayers);
  read.heads = config.number("num_attention_heads", usual.heads, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", read.heads);
  read.image = read_side(config, "image_size", usual.image);
  shape.patch = read_side(config, "patch_size", usual.patch);
  if (shape.patch > read.image)
    config.refuse("patch_size", fmt::format("a patch of {} pixels is wider than an image of {}",
                                            shape.patch, read.image));
  shape.channels = config.number("num_channels", 3, kMostFeatures);
  const std::int64_t side = read.image / shape.patch;
  require_patches(config, side);
  read.patches = side * side;
  return read;
}

std::int64_t read_feed_forward(Config& config, const VitDefaults& usual) {
  return config.number("intermediate_size", usual.feed_forward, kMostFeedForward);
}

AttentionModules vit_attention(std::int64_t hidden, std::int64_t heads, const std::string& module,
                               const char* output, bool bias) {
  return {.hidden = hidden,
          .heads = heads,
          .key_heads = heads,
          .head_features = hidden / heads,
          .query = {module + ".q_proj", bias},
          .key = {module + ".k_proj", bias},
          .value = {module + ".v_proj", bias},
          .output = {module + "." + output, true}};
}

BlockModules tower_block(std::int64_t hidden, std::int64_t heads, std::int64_t feed_forward,
                         const char* order) {
  BlockModules block;
  block.hidden = hidden;
  block.attention = vit_attention(hidden, heads, "self_attn", "out_proj", true);
  block.around_attention.before = {.name = "layer_norm1", .bias = true};
  block.feed_forward = {
      .features = feed_forward, .gate = {}, .up = {"mlp.fc1", true}, .down = {"mlp.fc2", true}};
  block.around_feed_forward.before = {.name = "layer_norm2", .bias = true};
  block.defined = order;
  return block;
}

ReadVision read_clip_tower(Config& config, const std::string& base, const VitDefaults& usual) {
  ReadVision read = read_tower(config, base, usual, kClipBlock);
  VisionShape& shape = read.shape;
  config.optional_number("projection_dim", kMostFeatures);
  shape.patches.bias = false;
  shape.tokens = {{.name = "embeddings.class_embedding", .shape = {shape.hidden}}};
  shape.extra_tokens = 1;
  ++shape.position_rows;
  shape.first_norm = {.name = "pre_layrnorm", .bias = true};
  shape.norms_first_token = true;
  return read;
}

ReadVision read_siglip_tower(Config& config, const std::string& base, const VitDefaults& usual) {
  ReadVision read = read_tower(config, base, usual, kSiglipBlock);
  config.optional_number("projection_dim", kMostFeatures);
  read.shape.attention_pooling = config.flag("vision_use_head", true);
  return read;
}

}  // namespace ddpsim
