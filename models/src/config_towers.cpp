#include "config_towers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kMostPatchPixels = 1024;  ///< per side
constexpr std::int64_t kMostChannels = 1024;
constexpr std::int64_t kMostFrames = 64;

NormModule rms_of(const char* name) {
  return {.name = name, .kind = NormKind::rms};
}

/// Fields that are saved but that no tower reads.
void skip_unread_of_towers(Config& config) {
  for (const char* key : {"vocab_size", "num_image_tokens", "num_positions", "projection_dim",
                          "max_position_embeddings", "default_output_length", "tokens_per_second"})
    config.optional(key);
}

/// Frequencies of the rotation and a copy of the original frequencies.
void give_frequencies(VisionShape& shape, std::int64_t count) {
  for (int copy = 0; copy < 2; ++copy) shape.single_buffers.push_back(count);
}

/// Attention with one product for queries, keys and values.
AttentionModules joined_attention(std::int64_t hidden, std::int64_t heads) {
  return {.hidden = hidden,
          .heads = heads,
          .key_heads = heads,
          .head_features = hidden / heads,
          .rotated = hidden / heads,
          .query = {"attn.qkv", true},
          .key = {},
          .value = {},
          .output = {"attn.proj", true}};
}

ReadVision read_pixtral_tower(Config& config, const std::string& base) {
  const VitDefaults usual = {
      .hidden = 1024, .layers = 24, .heads = 16, .feed_forward = 4096, .image = 1024, .patch = 16};
  ReadVision read = read_vision(config, base, usual);
  config.optional("head_dim");  // the class computes hidden_size / num_attention_heads
  VisionShape& shape = read.shape;
  BlockModules& block = shape.block;
  block.hidden = shape.hidden;
  block.attention = vit_attention(shape.hidden, read.heads, "attention", "o_proj", false);
  block.attention.output.bias = false;
  block.attention.rotated = block.attention.head_features;
  block.around_attention.before = rms_of("attention_norm");
  block.feed_forward = {.features = read_feed_forward(config, usual),
                        .gate = {"feed_forward.gate_proj"},
                        .up = {"feed_forward.up_proj"},
                        .down = {"feed_forward.down_proj"}};
  block.around_feed_forward.before = rms_of("ffn_norm");
  block.defined =
      "attention_norm feed_forward attention.k_proj attention.v_proj attention.q_proj "
      "attention.o_proj ffn_norm";
  shape.patches = {"patch_conv", false};
  shape.first_norm = rms_of("ln_pre");
  shape.block_prefix = "transformer.layers.";
  shape.defined = "patch_conv ln_pre transformer";
  give_frequencies(shape, block.attention.head_features / 2);
  return read;
}

/// Sizes of a tower that receives patches as rows.
struct RowSizes {
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t layers;
};

/// A tower for images of any size. config.json does not say how many patches an image has.
ReadVision read_qwen_rows(Config& config, const std::string& base, const RowSizes& sizes) {
  constexpr std::int64_t kPatches = 1024;
  ReadVision read;
  VisionShape& shape = read.shape;
  shape.base = base;
  shape.hidden = sizes.hidden;
  shape.layers = sizes.layers;
  read.heads = sizes.heads;
  shape.patch = config.number("patch_size", 14, kMostPatchPixels);
  shape.channels = config.number("in_channels", 3, kMostChannels);
  const std::int64_t frames = config.number("temporal_patch_size", 2, kMostFrames);
  skip_unread_of_towers(config);
  for (const char* key : {"in_chans", "spatial_patch_size"}) config.optional(key);
  shape.rows = read.patches = kPatches;
  config.assume_text(fmt::format("{} patches of an image", kPatches));
  shape.row_weight = {shape.hidden, shape.channels, frames, shape.patch, shape.patch};
  shape.patches = {"patch_embed.proj", false};
  shape.block_prefix = "blocks.";
  shape.block.hidden = shape.hidden;
  shape.block.attention = joined_attention(shape.hidden, read.heads);
  shape.block.defined = "norm1 norm2 attn.qkv attn.proj mlp";
  shape.defined = "patch_embed blocks";
  give_frequencies(shape, shape.hidden / read.heads / 4);
  return read;
}

RowSizes read_qwen_sizes(Config& config, const char* width, std::int64_t usual) {
  const RowSizes sizes = {.hidden = config.number(width, usual, kMostFeatures),
                          .heads = config.number("num_heads", 16, kMostHeads),
                          .layers = config.number("depth", 32, kMostLayers)};
  config.require_multiple(width, sizes.hidden, "num_heads", sizes.heads);
  return sizes;
}

std::int64_t read_merged(Config& config, std::int64_t hidden) {
  constexpr std::int64_t kMostMerged = 64;  // per side
  const std::int64_t side = config.number("spatial_merge_size", 2, kMostMerged);
  if (side * side > kMostFeatures / hidden)
    config.refuse("spatial_merge_size", "the patches that become one token are too many");
  return side * side;
}

/// The blocks attend only within a window, except those that the file lists.
std::vector<std::int64_t> read_windows(Config& config, const VisionShape& shape) {
  constexpr std::int64_t kMostWindow = 65'536;
  const std::int64_t side = config.number("window_size", 112, kMostWindow) / shape.patch;
  const auto full = config.numbers("fullatt_block_indexes", kMostLayers)
                        .value_or(std::vector<std::int64_t>{7, 15, 23, 31});
  std::vector<std::int64_t> windows;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    windows.push_back(
        std::ranges::find(full, layer) == full.end() ? std::max<std::int64_t>(side * side, 1) : 0);
  return windows;
}

struct GemmaTowerSizes {
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t key_heads;
  std::int64_t head_features;
};

/// Norms before and after each branch and in each head, and a gated feed-forward.
BlockModules read_gemma4_block(Config& config, const GemmaTowerSizes& sizes) {
  BlockModules block;
  block.hidden = sizes.hidden;
  block.attention = {.hidden = sizes.hidden,
                     .heads = sizes.heads,
                     .key_heads = sizes.key_heads,
                     .head_features = sizes.head_features,
                     .rotated = sizes.head_features,
                     .query = {"self_attn.q_proj.linear"},
                     .key = {"self_attn.k_proj.linear"},
                     .value = {"self_attn.v_proj.linear"},
                     .output = {"self_attn.o_proj.linear"},
                     .query_norm = rms_of("self_attn.q_norm"),
                     .key_norm = rms_of("self_attn.k_norm")};
  block.around_attention = {.before = rms_of("input_layernorm"),
                            .inside = rms_of("post_attention_layernorm")};
  block.feed_forward = {.features = config.number("intermediate_size", 3072, kMostFeedForward),
                        .gate = {"mlp.gate_proj.linear"},
                        .up = {"mlp.up_proj.linear"},
                        .down = {"mlp.down_proj.linear"}};
  block.around_feed_forward = {.before = rms_of("pre_feedforward_layernorm"),
                               .inside = rms_of("post_feedforward_layernorm")};
  block.defined =
      "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj self_attn.q_norm "
      "self_attn.k_norm mlp input_layernorm post_attention_layernorm pre_feedforward_layernorm "
      "post_feedforward_layernorm";
  return block;
}

}  // namespace

ReadVision read_tower_of_type(Config& config, const std::string& base,
                              std::string_view usual_type) {
  const std::string type = config.word("model_type", usual_type);
  skip_unread_of_towers(config);
  if (type == "pixtral") return read_pixtral_tower(config, base);
  ReadVision read;
  if (type == "clip_vision_model")
    read = read_clip_tower(config, base, kClipDefaults);
  else if (type == "siglip_vision_model")
    read = read_siglip_tower(config, base, {});
  else
    config.refuse(
        "model_type", fmt::format("a tower of type {} is not supported", in_quotes(type)),
        "Known: clip_vision_model, siglip_vision_model, pixtral. For another tower, record "
        "the job");
  read.shape.places = {read.shape.position_rows};
  return read;
}

ReadVision read_smolvlm_tower(Config& config, const std::string& base) {
  skip_unread_of_towers(config);
  for (const char* key : {"size", "max_image_size", "use_base_siglip"}) config.optional(key);
  return read_tower(config, base, kSmolVlmDefaults, kClipBlock);
}

ReadVision read_gemma4_tower(Config& config, const std::string& base, std::int64_t tokens) {
  ReadVision read;
  VisionShape& shape = read.shape;
  shape.base = base;
  shape.hidden = config.number("hidden_size", 768, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", 16, kMostLayers);
  read.heads = config.number("num_attention_heads", 12, kMostHeads);
  const std::int64_t key_heads = config.number("num_key_value_heads", 12, kMostHeads);
  const std::int64_t head = config.number("head_dim", 64, kMostFeatures);
  config.require_multiple("num_attention_heads", read.heads, "num_key_value_heads", key_heads);
  if (head * read.heads > kMostFeatures)
    config.refuse("num_attention_heads",
                  fmt::format("heads hold more than {} features together", kMostFeatures));
  shape.patch = config.number("patch_size", 16, kMostPatchPixels);
  constexpr std::int64_t kMostPooled = 64;  // per side
  const std::int64_t side = config.number("pooling_kernel_size", 3, kMostPooled);
  if (tokens > kMostTokens / (side * side))
    config.refuse("pooling_kernel_size",
                  fmt::format("an image of more than {} patches", kMostTokens));
  shape.rows = read.patches = tokens * side * side;
  shape.row_weight = {shape.hidden, 3 * shape.patch * shape.patch};
  shape.patches = {"patch_embedder.input_proj", false};
  shape.positions = "patch_embedder.position_embedding_table";
  shape.position_sets = 2;
  shape.position_rows = config.number("position_embedding_size", 10240, kMostTokens);
  shape.block_prefix = "encoder.layers.";
  skip_unread_of_towers(config);
  for (const char* key : {"global_head_dim", "attention_bias"}) config.optional(key);
  shape.block = read_gemma4_block(
      config,
      {.hidden = shape.hidden, .heads = read.heads, .key_heads = key_heads, .head_features = head});
  shape.defined = "patch_embedder.position_embedding_table patch_embedder.input_proj encoder";
  give_frequencies(shape, head / 4);
  if (config.flag("standardize", false))  // std_bias, std_scale
    shape.single_buffers.insert(shape.single_buffers.end(), 2, shape.hidden);
  // Linears of a block. Each has buffers for the smallest and largest input and output.
  constexpr std::int64_t kLinears = 7;
  if (config.flag("use_clipped_linears", false))
    shape.single_buffers.insert(shape.single_buffers.end(),
                                static_cast<std::size_t>(4 * kLinears * shape.layers), 1);
  return read;
}

ReadQwenTower read_qwen2_vl_tower(Config& config, const std::string& base) {
  ReadQwenTower read;
  read.tower = read_qwen_rows(config, base, read_qwen_sizes(config, "embed_dim", 1280));
  VisionShape& shape = read.tower.shape;
  const std::int64_t ratio = config.number("mlp_ratio", 4, 1024);
  if (ratio > kMostFeedForward / shape.hidden)
    config.refuse("mlp_ratio", "the feed-forward is too wide");
  shape.block.around_attention.before = {.name = "norm1", .bias = true};
  shape.block.feed_forward = {.features = shape.hidden * ratio,
                              .gate = {},
                              .up = {"mlp.fc1", true},
                              .down = {"mlp.fc2", true}};
  shape.block.around_feed_forward.before = {.name = "norm2", .bias = true};
  read.merged = read_merged(config, shape.hidden);
  read.out = config.number("hidden_size", 3584, kMostFeatures);
  return read;
}

ReadQwenTower read_qwen2_5_vl_tower(Config& config, const std::string& base) {
  ReadQwenTower read;
  read.tower = read_qwen_rows(config, base, read_qwen_sizes(config, "hidden_size", 3584));
  VisionShape& shape = read.tower.shape;
  shape.block.around_attention.before = rms_of("norm1");
  shape.block.feed_forward = {
      .features = config.number("intermediate_size", 3420, kMostFeedForward),
      .activation = ActivationFunction::silu,
      .gate = {"mlp.gate_proj", true},
      .up = {"mlp.up_proj", true},
      .down = {"mlp.down_proj", true}};
  shape.block.around_feed_forward.before = rms_of("norm2");
  shape.windows = read_windows(config, shape);
  read.merged = read_merged(config, shape.hidden);
  read.out = config.number("out_hidden_size", 3584, kMostFeatures);
  return read;
}

}  // namespace ddpsim
