// Reads the config.json of transformers over images.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "config_fields.hpp"
#include "config_images.hpp"
#include "convnext.hpp"
#include "swin.hpp"
#include "vision.hpp"

namespace ddpsim {
namespace {

BlockModules vit_block(std::int64_t hidden, std::int64_t heads, std::int64_t feed_forward,
                       bool bias) {
  BlockModules block;
  block.hidden = hidden;
  block.attention = vit_attention(hidden, heads, "attention", "o_proj", bias);
  block.around_attention.before = {.name = "layernorm_before", .bias = true};
  block.feed_forward = {
      .features = feed_forward, .gate = {}, .up = {"mlp.fc1", true}, .down = {"mlp.fc2", true}};
  block.around_feed_forward.before = {.name = "layernorm_after", .bias = true};
  block.defined =
      "lambda_1 lambda_2 attention layernorm_before layernorm_after mlp "
      "relative_position_bias";
  return block;
}

DescribedModel describe_vision(const ReadVision& read) {
  return described_as(read.shape, read.image, 0);
}

void skip_masking(Config& config) {
  for (const char* key : {"encoder_stride", "pooler_output_size", "pooler_act", "out_features",
                          "out_indices", "stage_names", "apply_layernorm", "reshape_hidden_states"})
    config.optional(key);
}

LearnedToken class_token(std::int64_t hidden, const char* name = "embeddings.cls_token") {
  return {.name = name, .shape = {1, 1, hidden}};
}

/// One or two classifiers after a model. Without any, the model's modules have no prefix.
void classify(Config& config, ReadVision& read, const std::string& head, std::int64_t features) {
  if (head == "Model") {
    read.shape.base.clear();
    return;
  }
  read.shape.labels = config.labels();
  read.shape.classifier_features = features;
  read.shape.classifiers = {"classifier"};
  if (head == "ForImageClassificationWithTeacher")
    read.shape.classifiers = {"cls_classifier", "distillation_classifier"};
}

constexpr const char* kVitOrder =
    "embeddings.cls_token embeddings.mask_token embeddings.position_embeddings "
    "embeddings.register_tokens embeddings.distillation_token embeddings.patch_embeddings "
    "shared_position_bias layers encoder layernorm pooler";

DescribedModel read_vit(Config& config, const std::string& base, bool distilled) {
  const VitDefaults usual;
  ReadVision read = read_vision(config, base, usual);
  VisionShape& shape = read.shape;
  const bool bias = config.flag("qkv_bias", true);
  shape.block = vit_block(shape.hidden, read.heads, read_feed_forward(config, usual), bias);
  shape.tokens = {class_token(shape.hidden)};
  if (distilled) shape.tokens.push_back(class_token(shape.hidden, "embeddings.distillation_token"));
  shape.extra_tokens = distilled ? 2 : 1;
  shape.positions = "embeddings.position_embeddings";
  shape.position_rows = read.patches + shape.extra_tokens;
  shape.last_norm = {.name = "layernorm", .bias = true};
  shape.defined = kVitOrder;
  skip_masking(config);
  const std::string head =
      distilled
          ? config.architecture(
                "ForImageClassification",
                {"ForImageClassification", "ForImageClassificationWithTeacher", "Model"})
          : config.architecture("ForImageClassification", {"ForImageClassification", "Model"});
  if (head == "Model") {
    shape.pooler = "pooler.dense";
    shape.pooler_features =
        config.optional_number("pooler_output_size", kMostFeatures).value_or(shape.hidden);
  }
  classify(config, read, head, shape.hidden);
  return describe_vision(read);
}

DescribedModel vit(Config& config) {
  return read_vit(config, "vit.", false);
}

DescribedModel deit(Config& config) {
  return read_vit(config, "deit.", true);
}

DescribedModel beit(Config& config) {
  const VitDefaults usual;
  ReadVision read = read_vision(config, "beit.", usual);
  VisionShape& shape = read.shape;
  shape.block = vit_block(shape.hidden, read.heads, read_feed_forward(config, usual), true);
  shape.block.attention.key.bias = false;
  config.refuse_null("layer_scale_init_value", "0.1");
  const auto scale = config.optional("layer_scale_init_value");
  if (!scale || scale->number(0, 1e9) > 0) {
    shape.block.around_attention.scale = "lambda_1";
    shape.block.around_feed_forward.scale = "lambda_2";
  }
  const std::int64_t side = read.image / shape.patch;
  const std::int64_t distances = (2 * side - 1) * (2 * side - 1) + 3;
  const bool own = config.flag("use_relative_position_bias", false);
  const bool shared = config.flag("use_shared_relative_position_bias", false);
  if (own) {
    shape.block.attention.score_table = "relative_position_bias.relative_position_bias_table";
    shape.block.attention.score_rows = distances;
    shape.block.attention.score_first = true;
  }
  if (shared) {
    shape.shared_scores = "shared_position_bias.relative_position_bias_table";
    shape.score_rows = distances;
    shape.score_heads = read.heads;
  }
  shape.tokens = {class_token(shape.hidden)};
  shape.extra_tokens = 1;
  if (config.flag("use_mask_token", false))
    shape.tokens.insert(shape.tokens.begin(), class_token(shape.hidden, "embeddings.mask_token"));
  if (config.flag("use_absolute_position_embeddings", false)) {
    shape.positions = "embeddings.position_embeddings";
    shape.position_rows = read.patches + 1;
  }
  // With mean pooling, the norm is in the pooler and runs over the mean of the patches.
  shape.pooled_norm = config.flag("use_mean_pooling", true);
  shape.last_norm = {.name = shape.pooled_norm ? "pooler.layernorm" : "layernorm", .bias = true};
  shape.defined = kVitOrder;
  skip_masking(config);
  // Fields of the segmentation head, which other heads do not read.
  for (const char* key :
       {"vocab_size", "use_auxiliary_head", "auxiliary_loss_weight", "auxiliary_channels",
        "auxiliary_num_convs", "auxiliary_concat_input", "add_fpn", "pool_scales",
        "semantic_loss_ignore_index", "segmentation_indices", "out_feature_channels"})
    config.optional(key);
  const std::string head =
      config.architecture("ForImageClassification", {"ForImageClassification", "Model"});
  classify(config, read, head, shape.hidden);
  return describe_vision(read);
}

DescribedModel read_dinov2(Config& config, const std::string& base, bool registers) {
  VitDefaults usual;
  usual.patch = registers ? 16 : 14;
  ReadVision read = read_vision(config, base, usual);
  VisionShape& shape = read.shape;
  const std::int64_t ratio = config.number("mlp_ratio", 4, 1024);
  const bool bias = config.flag("qkv_bias", true);
  std::int64_t features = shape.hidden * ratio;
  if (features > kMostFeedForward) config.refuse("mlp_ratio", "the feed-forward is too wide");
  shape.block = vit_block(shape.hidden, read.heads, features, bias);
  if (config.flag("use_swiglu_ffn", false)) {
    features = (features * 2 / 3 + 7) / 8 * 8;
    shape.block.feed_forward = {.features = features,
                                .activation = ActivationFunction::silu,
                                .gate = {"mlp.gate_proj", true},
                                .up = {"mlp.up_proj", true},
                                .down = {"mlp.down_proj", true}};
  }
  shape.block.around_attention.before.name = "norm1";
  shape.block.around_feed_forward.before.name = "norm2";
  shape.block.around_attention.scale = "layer_scale1.lambda1";
  shape.block.around_feed_forward.scale = "layer_scale2.lambda1";
  shape.block.defined = "norm1 attention layer_scale1 norm2 mlp layer_scale2";
  shape.block_prefix = "encoder.layer.";
  shape.tokens = {class_token(shape.hidden)};
  shape.extra_tokens = 1;
  if (registers || config.flag("use_mask_token", true)) {
    config.note(
        "embeddings.mask_token trains only with masked patches; it is counted as trainable");
    shape.tokens.insert(shape.tokens.begin(),
                        {.name = "embeddings.mask_token", .shape = {1, shape.hidden}});
  }
  if (registers) {
    const std::int64_t count = config.number("num_register_tokens", 4, kMostTokens);
    shape.tokens.push_back({.name = "embeddings.register_tokens",
                            .shape = {1, count, shape.hidden},
                            .behind_positions = true});
    shape.extra_tokens += count;
  }
  shape.positions = "embeddings.position_embeddings";
  shape.position_rows = read.patches + 1;
  shape.last_norm = {.name = "layernorm", .bias = true};
  shape.defined = kVitOrder;
  skip_masking(config);
  const std::string head =
      config.architecture("ForImageClassification", {"ForImageClassification", "Model"});
  classify(config, read, head, 2 * shape.hidden);
  return describe_vision(read);
}

DescribedModel dinov2(Config& config) {
  return read_dinov2(config, "dinov2.", false);
}

DescribedModel dinov2_with_registers(Config& config) {
  return read_dinov2(config, "dinov2_with_registers.", true);
}

std::vector<std::int64_t> read_stages(Config& config, const char* key,
                                      const std::vector<std::int64_t>& usual, std::int64_t most) {
  const auto given = config.numbers(key, most);
  config.refuse_null(key, fmt::format("[{}]", fmt::join(usual, ",")));
  if (!given) config.assume(key, fmt::format("[{}]", fmt::join(usual, ",")));
  const std::vector<std::int64_t> stages = given.value_or(usual);
  constexpr std::size_t kMostStages = 16;
  if (stages.empty() || stages.size() > kMostStages || std::ranges::count(stages, 0) > 0)
    config.refuse(key, fmt::format("{} needs 1 to {} stages, each of 1 or more", key, kMostStages));
  if (std::string_view(key) == "depths" &&
      std::accumulate(stages.begin(), stages.end(), std::int64_t{0}) > kMostLayers)
    config.refuse(key, fmt::format("the stages have more than {} layers together", kMostLayers));
  return stages;
}

DescribedModel swin(Config& config) {
  SwinShape shape;
  const std::int64_t image = read_side(config, "image_size", 224);
  shape.patch = read_side(config, "patch_size", 4);
  shape.channels = config.number("num_channels", 3, kMostFeatures);
  shape.features = config.number("embed_dim", 96, 4096);
  shape.depths = read_stages(config, "depths", {2, 2, 6, 2}, kMostLayers);
  shape.heads = read_stages(config, "num_heads", {3, 6, 12, 24}, kMostHeads);
  if (shape.heads.size() != shape.depths.size())
    config.refuse("num_heads", "num_heads and depths name different numbers of stages");
  require_patches(config, image / shape.patch);
  if ((shape.features << (shape.depths.size() - 1)) > kMostFeatures)
    config.refuse("embed_dim", "the last stage has too many features");
  for (std::size_t stage = 0; stage < shape.heads.size(); ++stage)
    config.require_multiple("embed_dim", shape.features << stage, "num_heads", shape.heads[stage]);
  shape.window = config.number("window_size", 7, 256);
  config.refuse_null("mlp_ratio", "4");
  if (const auto ratio = config.optional("mlp_ratio")) shape.ratio = ratio->number(1, 4);
  shape.bias = config.flag("qkv_bias", true);
  shape.positions = config.flag("use_absolute_embeddings", false);
  shape.image = image;
  skip_masking(config);
  config.optional("path_norm");
  config.may_repeat("num_layers", static_cast<std::int64_t>(shape.depths.size()),
                    "those of depths");
  config.may_repeat("hidden_size", shape.features << (shape.depths.size() - 1),
                    "the features of the last stage");
  const std::string head =
      config.architecture("ForImageClassification", {"ForImageClassification", "Model"});
  if (head != "Model") shape.labels = config.labels();
  return described_as(shape, image, 0);
}

DescribedModel read_convnext(Config& config, bool second) {
  ConvNextShape shape;
  shape.base = second ? "convnextv2." : "convnext.";
  shape.patch = config.number("patch_size", 4, kMostPixels);
  shape.channels = config.number("num_channels", 3, kMostFeatures);
  shape.features = read_stages(config, "hidden_sizes", {96, 192, 384, 768}, kMostFeatures);
  shape.depths = read_stages(config, "depths", {3, 3, 9, 3}, kMostLayers);
  if (shape.features.size() != shape.depths.size())
    config.refuse("hidden_sizes", "hidden_sizes and depths name different numbers of stages");
  if (const std::int64_t stages = config.number("num_stages", 4, kMostLayers);
      stages != static_cast<std::int64_t>(shape.depths.size()))
    config.refuse("num_stages",
                  fmt::format("num_stages is {}, and hidden_sizes and depths name {}: such a model "
                              "does not run",
                              stages, shape.depths.size()),
                  "Make them equal");
  skip_masking(config);
  shape.normalizes_responses = second;
  if (!second) config.refuse_null("layer_scale_init_value", "1e-6");
  const auto scale = config.optional("layer_scale_init_value");
  shape.scales = !second && (!scale || scale->number(0, 1e9) > 0);
  const std::int64_t image = config.number("image_size", 224, kMostPixels);
  if (image >> (shape.depths.size() + 1) < 1 || shape.patch > image)
    config.refuse("image_size", "the image is smaller than what the last stage looks at");
  const std::string head =
      config.architecture("ForImageClassification", {"ForImageClassification", "Model"});
  if (head == "Model")
    shape.base.clear();
  else
    shape.labels = config.labels();
  return described_as(shape, image, 0);
}

DescribedModel convnext(Config& config) {
  return read_convnext(config, false);
}

DescribedModel convnextv2(Config& config) {
  return read_convnext(config, true);
}

}  // namespace

std::vector<ConfigFamily> vision_families() {
  return {{"vit", "ViT", vit},
          {"deit", "DeiT", deit},
          {"beit", "Beit", beit},
          {"dinov2", "Dinov2", dinov2},
          {"dinov2_with_registers", "Dinov2WithRegisters", dinov2_with_registers},
          {"swin",
           "Swin",
           swin,
           {{"num_attention_heads", "num_heads"}, {"num_hidden_layers", "num_layers"}}},
          {"convnext", "ConvNext", convnext, {{"num_hidden_layers", "num_stages"}}},
          {"convnextv2", "ConvNextV2", convnextv2, {{"num_hidden_layers", "num_stages"}}}};
}

}  // namespace ddpsim
