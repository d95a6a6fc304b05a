// Reads the config.json of Gemma 1 to 4. Each function states how a family differs from Llama.
#include <fmt/format.h>

#include <algorithm>

#include "config_decoders.hpp"
#include "config_experts.hpp"

namespace ddpsim {
namespace {

/// Gemma scales the embeddings, and its heads are wider than the features divided by the heads.
ReadDecoder read_gemma(Config& config, const DecoderDefaults& usual) {
  ReadDecoder read = read_decoder(config, usual);
  read_attention_bias(config, read.block().attention);
  read.shape.scaled_words = true;
  read.block().feed_forward.activation = ActivationFunction::gelu;
  return read;
}

NormModule gemma_norm(const char* name) {
  return {.name = name, .kind = NormKind::rms};
}

/// From Gemma 2 on, a norm also follows each branch.
void norm_both_sides(BlockModules& block) {
  block.around_attention.inside = gemma_norm("post_attention_layernorm");
  block.around_feed_forward.before = gemma_norm("pre_feedforward_layernorm");
  block.around_feed_forward.inside = gemma_norm("post_feedforward_layernorm");
  block.defined = order_of_dense();
}

/// Defaults that differ between Gemma 2, 3 and 4.
struct NewerGemmaDefaults {
  std::int64_t layers;
  std::int64_t vocabulary;
  std::int64_t positions;
};

ReadDecoder read_newer_gemma(Config& config, const NewerGemmaDefaults& usual) {
  ReadDecoder read = read_gemma(config, {.hidden = 2304,
                                         .layers = usual.layers,
                                         .heads = 8,
                                         .key_heads = 4,
                                         .head_features = 256,
                                         .feed_forward = 9216,
                                         .vocabulary = usual.vocabulary,
                                         .positions = usual.positions,
                                         .tied = true});
  norm_both_sides(read.block());
  return read;
}

/// Whether each layer has full attention. If the file does not say, every sixth layer has.
std::vector<bool> full_layers(Config& config, std::size_t layers, std::int64_t usual_pattern) {
  const auto types = config.layer_types(static_cast<std::int64_t>(layers));
  std::int64_t pattern = usual_pattern;
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"})
    if (const auto given = config.optional_number(key, kMostLayers)) pattern = *given;
  std::vector<bool> full;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    if (types && (*types)[layer] != "full_attention" && (*types)[layer] != "sliding_attention")
      config.refuse("layer_types", "a layer is neither full_attention nor sliding_attention");
    full.push_back(types ? (*types)[layer] == "full_attention"
                         : (static_cast<std::int64_t>(layer) + 1) % pattern == 0);
  }
  return full;
}

constexpr std::int64_t kGemmaPattern = 6;

struct FullLayers {
  std::optional<std::int64_t> head_features;
  std::optional<std::int64_t> key_heads;
};

/// Values of per_layer_config for the layers with full attention. They must all be equal.
FullLayers read_full_layers(Config& config) {
  FullLayers full;
  const auto layers = config.optional("per_layer_config");
  if (!layers) return full;
  bool first = true;
  for (const auto& [layer, fields] : layers->free_object().items()) {
    const Object object = fields.object({"head_dim", "num_key_value_heads"});
    FullLayers one;
    if (const auto head = object.optional("head_dim"))
      one.head_features = head->integer(1, kMostFeatures);
    if (const auto keys = object.optional("num_key_value_heads"))
      one.key_heads = keys->integer(1, kMostHeads);
    if (!first && (one.head_features != full.head_features || one.key_heads != full.key_heads))
      fields.fail("layers of full attention that differ are not supported",
                  "Record the job instead");
    full = one;
    first = false;
  }
  return full;
}

/// Refuses features of other sizes of Gemma 4. Accepts fields that have no effect without these.
void refuse_what_gemma4_may_have(Config& config) {
  if (config.count("hidden_size_per_layer_input", 256, kMostFeatures) > 0)
    config.refuse("hidden_size_per_layer_input", "embeddings for each layer are not supported",
                  "Record the job instead");
  if (config.count("num_kv_shared_layers", 0, kMostLayers) > 0)
    config.refuse("num_kv_shared_layers", "layers that share keys and values are not supported",
                  "Record the job instead");
  for (const char* key : {"use_double_wide_mlp", "vocab_size_per_layer_input", "num_experts",
                          "top_k_experts", "moe_intermediate_size"})
    config.optional(key);
}

/// The experts run in addition to the feed-forward, not instead of it.
ExpertModules read_gemma4_experts(Config& config) {
  const std::int64_t count = config.number("num_experts", 128, kMostExperts);
  ExpertModules experts = read_experts(config, count, "top_k_experts", 8, 704);
  experts.router = {"router.proj"};
  experts.router_scale = "router.scale";
  experts.expert_scale = "router.per_expert_scale";
  experts.first_weight = "experts.gate_up_proj";
  experts.last_weight = "experts.down_proj";
  experts.before_experts = gemma_norm("pre_feedforward_layernorm_2");
  experts.beside = gemma_norm("post_feedforward_layernorm_1");
  experts.behind = gemma_norm("post_feedforward_layernorm_2");
  return experts;
}

/// The block of a layer with full attention, derived from that of a layer with sliding attention.
BlockModules with_full_attention(Config& config, const BlockModules& sliding) {
  const bool keys_are_values = config.flag("attention_k_eq_v", false);
  BlockModules full = sliding;
  const FullLayers overrides = read_full_layers(config);
  full.attention.head_features = full.attention.rotated =
      overrides.head_features ? *overrides.head_features
                              : config.number("global_head_dim", 512, kMostFeatures);
  const auto full_keys = config.optional_number("num_global_key_value_heads", kMostHeads);
  if (overrides.key_heads) full.attention.key_heads = *overrides.key_heads;
  if (full_keys && keys_are_values) full.attention.key_heads = *full_keys;
  config.require_multiple("num_attention_heads", full.attention.heads, "num_global_key_value_heads",
                          full.attention.key_heads);
  if (keys_are_values) full.attention.value = {};
  if (full.attention.head_features * full.attention.heads > kMostFeatures)
    config.refuse("global_head_dim",
                  fmt::format("heads hold more than {} features together", kMostFeatures));
  return full;
}

/// Uses the second kind of block for layers with full attention. Each kind has its own rotation.
void place_full_layers(Config& config, DecoderShape& shape) {
  const std::vector<bool> is_full = full_layers(config, shape.layers.size(), kGemmaPattern);
  const bool named = config.optional("layer_types").has_value();
  for (std::size_t layer = 0; layer < is_full.size(); ++layer) {
    // If the file names no kinds, the last layer has full attention.
    const bool last = layer + 1 == is_full.size() && !named;
    shape.layers[layer] = is_full[layer] || last ? 1 : 0;
    shape.single_buffers.push_back(1);  // layer_scalar
  }
  shape.frequencies.clear();
  for (const std::size_t kind : {std::size_t{1}, std::size_t{0}})
    if (std::ranges::count(shape.layers, kind) > 0)
      shape.frequencies.push_back(shape.kinds[kind].attention.head_features / 2);
}

}  // namespace

DescribedModel gemma(Config& config) {
  return read_gemma(config, {.hidden = 3072,
                             .layers = 28,
                             .heads = 16,
                             .key_heads = 16,
                             .head_features = 256,
                             .feed_forward = 24576,
                             .vocabulary = 256000,
                             .positions = 8192,
                             .tied = true})
      .described();
}

DescribedModel gemma2(Config& config) {
  ReadDecoder read =
      read_newer_gemma(config, {.layers = 26, .vocabulary = 256000, .positions = 8192});
  read.attention = AttentionKernel::eager;  // fused kernels do not cap scores
  return read.described();
}

DescribedModel gemma3(Config& config) {
  ReadDecoder read =
      read_newer_gemma(config, {.layers = 26, .vocabulary = 262208, .positions = 131072});
  norm_each_head(read.block().attention);
  read.block().attention.norms_last = true;
  const std::vector<bool> full = full_layers(config, read.shape.layers.size(), kGemmaPattern);
  const bool both = std::ranges::count(full, true) > 0 && std::ranges::count(full, false) > 0;
  if (both) read.shape.frequencies.push_back(read.llama.head_features / 2);
  return read.described();
}

/// The heads differ between layers. Full attention has wider heads, and may use keys as values.
DescribedModel gemma4(Config& config) {
  ReadDecoder read =
      read_newer_gemma(config, {.layers = 30, .vocabulary = 262144, .positions = 131072});
  norm_each_head(read.block().attention);
  read.block().attention.key_norm_last = true;
  refuse_what_gemma4_may_have(config);
  std::string experts_order;
  if (config.flag("enable_moe_block", false)) {
    give_experts(read.block(), read_gemma4_experts(config));
    experts_order =
        " router.scale router.per_expert_scale router.proj experts post_feedforward_layernorm_1 "
        "post_feedforward_layernorm_2 pre_feedforward_layernorm_2";
  }
  read.block().defined = fmt::format(
      "self_attn.q_proj self_attn.q_norm self_attn.k_norm self_attn.k_proj self_attn.v_proj "
      "self_attn.o_proj{}{}{}",
      kDenseOrder, kNormOrder, experts_order);
  read.shape.kinds.push_back(with_full_attention(config, read.block()));
  place_full_layers(config, read.shape);
  return read.described();
}

}  // namespace ddpsim
