// Reads the config.json of speech encoders: wav2vec 2.0 and HuBERT.
#include <fmt/ranges.h>

#include <algorithm>

#include "config_fields.hpp"
#include "wav2vec2.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kMostKernel = 4096;

std::vector<std::int64_t> read_convolutions(Config& config, const char* key,
                                            const std::vector<std::int64_t>& usual,
                                            std::int64_t most) {
  const auto given = config.numbers(key, most);
  config.refuse_null(key, fmt::format("[{}]", fmt::join(usual, ",")));
  if (!given) config.assume(key, fmt::format("[{}]", fmt::join(usual, ",")));
  constexpr std::size_t kMostConvolutions = 32;
  if (given &&
      (given->empty() || given->size() > kMostConvolutions || std::ranges::count(*given, 0) > 0))
    config.refuse(key, fmt::format("{} needs 1 to {} convolutions, each of 1 or more", key,
                                   kMostConvolutions));
  return given.value_or(usual);
}

/// The convolutions that turn sound into frames. Returns the number of samples between two frames.
std::int64_t read_sound_convolutions(Config& config, SpeechShape& shape) {
  shape.features =
      read_convolutions(config, "conv_dim", std::vector<std::int64_t>(7, 512), kMostFeatures);
  shape.kernels = read_convolutions(config, "conv_kernel", {10, 3, 3, 3, 3, 2, 2}, kMostKernel);
  shape.strides = read_convolutions(config, "conv_stride", {5, 2, 2, 2, 2, 2, 2}, kMostKernel);
  if (shape.features.size() != shape.kernels.size() || shape.kernels.size() != shape.strides.size())
    config.refuse("conv_dim",
                  "conv_dim, conv_kernel and conv_stride name different numbers of convolutions");
  std::int64_t apart = 1;
  for (const std::int64_t stride : shape.strides) {
    apart *= stride;
    if (apart > kMostTokens) config.refuse("conv_stride", "frames are too many samples apart");
  }
  std::int64_t reach = 1;
  for (std::size_t k = shape.kernels.size(); k-- > 0;) {
    reach = (reach - 1) * shape.strides[k] + shape.kernels[k];
    if (reach > kMostEmbeddings) config.refuse("conv_stride", "a frame covers too many samples");
  }
  return apart;
}

/// Refuses settings that add unsupported modules.
void refuse_unbuilt_speech(Config& config) {
  config.require_flag("use_weighted_layer_sum", false, "weighted sums of layers are not supported");
  config.require_flag("add_adapter", false, "an adapter after the encoder is not supported");
  config.require_flag("conv_pos_batch_norm", false,
                      "positions with a batch norm are not supported");
  if (const auto adapter = config.optional("adapter_attn_dim"))
    adapter->fail("adapters in the blocks are not supported", "Record the job instead");
}

/// Fields of masks, losses and unsupported heads. They change no parameter.
void skip_unread_of_speech(Config& config) {
  for (const char* key : {"mask_time_length",
                          "mask_time_min_masks",
                          "mask_feature_length",
                          "mask_feature_min_masks",
                          "apply_spec_augment",
                          "num_negatives",
                          "tdnn_dim",
                          "tdnn_kernel",
                          "tdnn_dilation",
                          "xvector_output_dim",
                          "adapter_kernel_size",
                          "adapter_stride",
                          "num_adapter_layers",
                          "output_hidden_size",
                          "mask_channel_length",
                          "mask_channel_min_space",
                          "mask_channel_other",
                          "mask_channel_prob",
                          "mask_channel_selection",
                          "mask_time_min_space",
                          "mask_time_other",
                          "mask_time_selection"})
    config.optional(key);
}

SpeechShape read_speech(Config& config) {
  SpeechShape shape;
  shape.hidden = config.number("hidden_size", 768, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", 12, kMostLayers);
  shape.heads = config.number("num_attention_heads", 12, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  shape.feed_forward = config.number("intermediate_size", 3072, kMostFeedForward);
  const std::int64_t apart = read_sound_convolutions(config, shape);
  config.may_repeat("num_feat_extract_layers", static_cast<std::int64_t>(shape.features.size()),
                    "the convolutions of conv_dim");
  shape.convolution_bias = config.flag("conv_bias", false);
  shape.norm_every_convolution = config.word("feat_extract_norm", "group") == "layer";
  shape.position_kernel = config.number("num_conv_pos_embeddings", 128, kMostKernel);
  shape.position_groups = config.number("num_conv_pos_embedding_groups", 16, kMostKernel);
  config.require_multiple("hidden_size", shape.hidden, "num_conv_pos_embedding_groups",
                          shape.position_groups);
  shape.norm_first = config.flag("do_stable_layer_norm", false);
  shape.masks =
      config.share("mask_time_prob", 0.05) > 0 || config.share("mask_feature_prob", 0) > 0;
  shape.dropout = config.share("hidden_dropout", 0.1) > 0;
  shape.vocabulary = config.number("vocab_size", 32, kMostEmbeddings);
  shape.classifier_features = config.number("classifier_proj_size", 256, kMostFeatures);
  refuse_unbuilt_speech(config);
  skip_unread_of_speech(config);
  config.note(
      fmt::format("sSEQ counts frames after the convolutions, each of {} samples of sound", apart));
  return shape;
}

DescribedModel describe_speech(Config& config, SpeechShape shape, const std::string& base,
                               const std::string& head) {
  shape.base = head == "Model" ? "" : base;
  if (head == "ForCTC") shape.head = SpeechHead::letters;
  if (head == "ForPreTraining") shape.head = SpeechHead::pretraining;
  if (head == "ForSequenceClassification") {
    shape.head = SpeechHead::sequence;
    shape.labels = config.labels();
  }
  constexpr std::int64_t kTenSeconds = 499;
  constexpr std::int64_t kMostFrames = 65'536;
  return described_as(shape, kTenSeconds, kMostFrames);
}

DescribedModel wav2vec2(Config& config) {
  SpeechShape shape = read_speech(config);
  shape.code_groups = config.number("num_codevector_groups", 2, 64);
  shape.codes = config.number("num_codevectors_per_group", 320, kMostEmbeddings);
  shape.code_features = config.number("codevector_dim", 256, kMostFeatures);
  config.require_multiple("codevector_dim", shape.code_features, "num_codevector_groups",
                          shape.code_groups);
  shape.projected_codes = config.number("proj_codevector_dim", 256, kMostFeatures);
  const std::string head = config.architecture(
      "ForPreTraining", {"ForPreTraining", "ForCTC", "ForSequenceClassification", "Model"});
  return describe_speech(config, shape, "wav2vec2.", head);
}

DescribedModel hubert(Config& config) {
  SpeechShape shape = read_speech(config);
  shape.projection_norm = config.flag("feat_proj_layer_norm", true);
  const std::string head =
      config.architecture("ForCTC", {"ForCTC", "ForSequenceClassification", "Model"});
  return describe_speech(config, shape, "hubert.", head);
}

}  // namespace

std::vector<ConfigFamily> speech_families() {
  return {{"wav2vec2", "Wav2Vec2", wav2vec2}, {"hubert", "Hubert", hubert}};
}

}  // namespace ddpsim
