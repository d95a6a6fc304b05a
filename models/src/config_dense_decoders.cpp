// Reads the config.json of decoders without experts. Each function states how a family differs from
// Llama.
#include <fmt/format.h>

#include <utility>

#include "config_decoders.hpp"
#include "config_like_llama.hpp"

namespace ddpsim {
namespace {

ReadDecoder read_glm(Config& config) {
  ReadDecoder read = read_decoder(config, {.layers = 40,
                                           .key_heads = 2,
                                           .head_features = 128,
                                           .feed_forward = 13696,
                                           .vocabulary = 151552,
                                           .positions = 131072});
  give_biases(read.block().attention, config.flag("attention_bias", true), false);
  join_gate(read.block());
  read.block().defined =
      fmt::format("{} mlp.gate_up_proj mlp.down_proj{} post_self_attn_layernorm post_mlp_layernorm",
                  kAttentionOrder, kNormOrder);
  rotate_part(read,
              config.rotated_features(read.llama.head_features, "partial_rotary_factor", 0.5));
  return read;
}

ReadDecoder read_cohere(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 8192,
                                           .layers = 40,
                                           .heads = 64,
                                           .feed_forward = 22528,
                                           .vocabulary = 256000,
                                           .positions = 8192,
                                           .tied = true});
  read_attention_bias(config, read.block().attention);
  take_layer_norms(read.shape, false);
  read.block().parallel = true;
  read.block().around_feed_forward.before = {};
  return read;
}

}  // namespace

DescribedModel llama(Config& config) {
  ReadDecoder read = read_decoder(config, {.null_head_features = true});
  read_attention_bias(config, read.block().attention);
  give_biases(read.block().feed_forward, config.flag("mlp_bias", false));
  return spans_as_transformer(std::move(read));
}

DescribedModel mistral(Config& config) {
  return read_decoder(config, {.key_heads = 8,
                               .feed_forward = 14336,
                               .positions = 131072,
                               .null_head_features = true})
      .described();
}

DescribedModel qwen2(Config& config) {
  ReadDecoder read = read_decoder(config, {.key_heads = 32,
                                           .feed_forward = 22016,
                                           .vocabulary = 151936,
                                           .positions = 32768,
                                           .null_key_heads = true});
  give_biases(read.block().attention, true, false);
  return spans_as_transformer(std::move(read));
}

/// The text model of Qwen2-VL and Qwen2.5-VL: Qwen2 with other default sizes.
DescribedModel qwen2_vl_text(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 8192,
                                           .layers = 80,
                                           .heads = 64,
                                           .key_heads = 8,
                                           .feed_forward = 29568,
                                           .vocabulary = 152064,
                                           .positions = 32768,
                                           .null_key_heads = true});
  give_biases(read.block().attention, true, false);
  return read.described();
}

DescribedModel qwen3(Config& config) {
  ReadDecoder read = read_decoder(config, {.key_heads = 32,
                                           .head_features = 128,
                                           .feed_forward = 22016,
                                           .vocabulary = 151936,
                                           .positions = 32768,
                                           .null_key_heads = true});
  read_attention_bias(config, read.block().attention);
  norm_each_head(read.block().attention);
  read.block().defined = order_of_dense();
  return spans_as_transformer(std::move(read));
}

DescribedModel phi(Config& config) {
  ReadDecoder read = read_decoder(
      config, {.hidden = 2048, .layers = 24, .feed_forward = 8192, .vocabulary = 51200});
  take_layer_norms(read.shape, true);
  BlockModules& block = read.block();
  give_biases(block.attention, true, true);
  block.attention.output.name = "self_attn.dense";
  block.feed_forward = {.features = read.llama.feed_forward,
                        .activation = ActivationFunction::gelu_written_out,
                        .gate = {},
                        .up = {"mlp.fc1", true},
                        .down = {"mlp.fc2", true}};
  block.around_feed_forward.before = {};
  block.parallel = true;
  if (config.flag("qk_layernorm", false)) {
    norm_heads(block.attention, NormKind::layer, HeadNorm::head, true, "q_layernorm",
               "k_layernorm");
    block.attention.norms_last = true;
  }
  block.defined =
      "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.dense self_attn.q_layernorm "
      "self_attn.k_layernorm mlp.fc1 mlp.fc2 input_layernorm";
  rotate_part(read,
              config.rotated_features(read.llama.head_features, "partial_rotary_factor", 0.5));
  read.shape.last_norm.name = "final_layernorm";
  read.shape.head_bias = true;
  return read.described();
}

DescribedModel phi3(Config& config) {
  ReadDecoder read = read_decoder(
      config, {.hidden = 3072, .feed_forward = 8192, .vocabulary = 32064, .positions = 4096});
  BlockModules& block = read.block();
  block.attention.query = {"self_attn.qkv_proj"};
  block.attention.key = block.attention.value = {};
  join_gate(block);
  block.defined =
      "self_attn.o_proj self_attn.qkv_proj mlp.gate_up_proj mlp.down_proj input_layernorm "
      "post_attention_layernorm";
  config.optional("original_max_position_embeddings");
  rotate_part(read, config.rotated_features(read.llama.head_features, "partial_rotary_factor", 1));
  return read.described();
}

DescribedModel olmo(Config& config) {
  ReadDecoder read = read_decoder(config, {.vocabulary = 50304});
  read_attention_bias(config, read.block().attention);
  take_layer_norms(read.shape, false);
  read.block().around_attention.before.weight = false;
  read.block().around_feed_forward.before.weight = false;
  read.shape.last_norm.weight = false;
  return read.described();
}

DescribedModel olmo2(Config& config) {
  ReadDecoder read = read_decoder(config, {.vocabulary = 50304});
  BlockModules& block = read.block();
  read_attention_bias(config, block.attention);
  norm_heads(block.attention, NormKind::rms, HeadNorm::all_heads, false);
  block.around_attention = {.inside = {.name = "post_attention_layernorm", .kind = NormKind::rms}};
  block.around_feed_forward = {
      .inside = {.name = "post_feedforward_layernorm", .kind = NormKind::rms}};
  block.defined = order_of_dense();
  return read.described();
}

DescribedModel stablelm(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 2560,
                                           .key_heads = 32,
                                           .feed_forward = 6912,
                                           .vocabulary = 50304,
                                           .positions = 4096,
                                           .null_head_features = true});
  config.may_repeat("head_dim", read.llama.hidden / read.llama.heads,
                    "hidden_size over num_attention_heads");
  take_layer_norms(read.shape, true);
  BlockModules& block = read.block();
  give_biases(block.attention, config.flag("use_qkv_bias", false), false);
  if (config.flag("qk_layernorm", false)) {
    constexpr std::int64_t kMostNorms = 20'000;
    if (read.llama.layers * (read.llama.heads + read.llama.key_heads) > kMostNorms)
      config.refuse("qk_layernorm", fmt::format("more than {} norms of heads", kMostNorms));
    norm_heads(block.attention, NormKind::layer, HeadNorm::modules, false, "q_layernorm",
               "k_layernorm");
    block.attention.norms_last = true;
  }
  if (config.flag("use_parallel_residual", false)) {
    block.parallel = true;
    block.around_feed_forward.before = {};
  }
  block.defined = fmt::format(
      "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj self_attn.q_layernorm "
      "self_attn.k_layernorm{}{}",
      kDenseOrder, kNormOrder);
  rotate_part(read,
              config.rotated_features(read.llama.head_features, "partial_rotary_factor", 0.25));
  return read.described();
}

DescribedModel granite(Config& config) {
  ReadDecoder read = read_decoder(config, {});
  read_attention_bias(config, read.block().attention);
  give_biases(read.block().feed_forward, config.flag("mlp_bias", false));
  return read.described();
}

DescribedModel glm(Config& config) {
  return read_glm(config).described();
}

DescribedModel glm4(Config& config) {
  ReadDecoder read = read_glm(config);
  read.block().around_attention.inside = {.name = "post_self_attn_layernorm",
                                          .kind = NormKind::rms};
  read.block().around_feed_forward.inside = {.name = "post_mlp_layernorm", .kind = NormKind::rms};
  return read.described();
}

DescribedModel cohere(Config& config) {
  ReadDecoder read = read_cohere(config);
  if (config.flag_or_null("use_qk_norm", false)) {
    norm_heads(read.block().attention, NormKind::layer, HeadNorm::own, false);
    read.block().attention.norms_last = true;
  }
  read.block().defined = order_of_dense();
  return read.described();
}

DescribedModel cohere2(Config& config) {
  return read_cohere(config).described();
}

DescribedModel starcoder2(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 3072,
                                           .layers = 30,
                                           .heads = 24,
                                           .key_heads = 2,
                                           .feed_forward = 12288,
                                           .vocabulary = 49152,
                                           .positions = 4096,
                                           .tied = true,
                                           .null_head_features = true});
  const bool bias = config.flag("use_bias", true);
  take_layer_norms(read.shape, true);
  give_biases(read.block().attention, bias, bias);
  read.block().feed_forward = {.features = read.llama.feed_forward,
                               .activation = ActivationFunction::gelu,
                               .gate = {},
                               .up = {"mlp.c_fc", bias},
                               .down = {"mlp.c_proj", bias}};
  read.block().defined = order_of("mlp.c_fc mlp.c_proj");
  return read.described();
}

DescribedModel smollm3(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 2048,
                                           .layers = 36,
                                           .heads = 16,
                                           .key_heads = 4,
                                           .feed_forward = 11008,
                                           .vocabulary = 128256,
                                           .positions = 32768,
                                           .tied = true,
                                           .null_key_heads = true});
  read_attention_bias(config, read.block().attention);
  give_biases(read.block().feed_forward, config.flag("mlp_bias", false));
  for (const char* key : {"no_rope_layers", "no_rope_layer_interval"}) config.optional(key);
  return spans_as_transformer(std::move(read));
}

DescribedModel nemotron(Config& config) {
  if (!config.optional("num_key_value_heads"))
    config.refuse("num_key_value_heads", "num_key_value_heads is missing",
                  "Add it: its class has no default for it");
  ReadDecoder read = read_decoder(config, {.hidden = 6144,
                                           .heads = 48,
                                           .feed_forward = 24576,
                                           .vocabulary = 256000,
                                           .positions = 4096,
                                           .null_head_features = true});
  take_layer_norms(read.shape, true);
  read_attention_bias(config, read.block().attention);
  give_biases(read.block().feed_forward, config.flag("mlp_bias", false));
  read.block().feed_forward.gate = {};
  read.block().feed_forward.activation = ActivationFunction::relu;
  // LayerNorm1P adds one to its weight. Backward reaches this addition last.
  read.block().around_attention.before.kind = NormKind::layer_plus_one;
  read.block().around_feed_forward.before.kind = NormKind::layer_plus_one;
  read.shape.last_norm.kind = NormKind::layer_plus_one;
  rotate_part(read,
              config.rotated_features(read.llama.head_features, "partial_rotary_factor", 0.5));
  return spans_as_transformer(std::move(read));
}

}  // namespace ddpsim
