// Decoders by their config.json, with experts and without. Each function says how a family differs from Llama.
#include <algorithm>

#include "config_fields.hpp"
#include "ddpsim/formats/quote.hpp"
#include "decoder.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kMostExperts = 65'536;
constexpr std::int64_t kMostExpertFeatures = 67'108'864;  ///< of all experts of a layer

/// What a class takes where the file says nothing. 0: as the comment says.
struct DecoderDefaults {
  std::int64_t hidden = 4096;
  std::int64_t layers = 32;
  std::int64_t heads = 32;
  std::int64_t key_heads = 0;      ///< as many as heads
  std::int64_t head_features = 0;  ///< hidden over heads
  std::int64_t feed_forward = 11008;
  std::int64_t vocabulary = 32000;
  std::int64_t positions = 2048;
  bool tied = false;
  bool null_key_heads = false;      ///< null means as many as heads; so it does where that is usual
  bool null_head_features = false;  ///< null means hidden over heads
};

struct ReadDecoder {
  LlamaShape llama;
  DecoderShape shape;
  std::int64_t usual_tokens = kUsualTokens;

  BlockModules& block() { return shape.kinds.front(); }
  Described described() const { return described_as(shape, usual_tokens); }
};

LlamaShape read_llama_shape(Config& config, const DecoderDefaults& usual) {
  LlamaShape shape;
  shape.hidden = config.number("hidden_size", usual.hidden, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", usual.layers, kMostLayers);
  shape.heads = config.number("num_attention_heads", usual.heads, kMostHeads);
  if ((usual.key_heads == 0 || usual.null_key_heads) && config.says_null("num_key_value_heads"))
    shape.key_heads = shape.heads;
  else
    shape.key_heads = config.number(
        "num_key_value_heads", usual.key_heads > 0 ? usual.key_heads : shape.heads, kMostHeads);
  const bool null_head = usual.null_head_features && config.says_null("head_dim");
  if (config.optional("head_dim") || (usual.head_features > 0 && !null_head)) {
    shape.head_features = config.number("head_dim", usual.head_features, kMostFeatures);
  } else {
    if (!null_head) config.refuse_null("head_dim", "hidden_size over num_attention_heads");
    config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
    shape.head_features = shape.hidden / shape.heads;
  }
  config.require_multiple("num_attention_heads", shape.heads, "num_key_value_heads",
                          shape.key_heads);
  if (shape.head_features * shape.heads > kMostFeatures)
    config.refuse("num_attention_heads",
                  fmt::format("heads hold more than {} features together", kMostFeatures));
  shape.feed_forward = config.number("intermediate_size", usual.feed_forward, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", usual.vocabulary, kMostEmbeddings);
  shape.tied = config.flag("tie_word_embeddings", usual.tied);
  return shape;
}

/// Layers of another kind than attention have other parameters.
void require_attention(Config& config, std::int64_t layers) {
  const auto types = config.layer_types(layers);
  if (!types) return;
  for (const std::string& type : *types)
    if (type != "full_attention" && type != "sliding_attention" && type != "chunked_attention")
      config.refuse("layer_types",
                    fmt::format("a layer of type {} is not built here", in_quotes(type)),
                    "Record the job instead");
}

ReadDecoder read_decoder(Config& config, const DecoderDefaults& usual) {
  ReadDecoder read;
  read.llama = read_llama_shape(config, usual);
  require_attention(config, read.llama.layers);
  read.shape = llama_decoder(read.llama);
  read.usual_tokens =
      at_most_usual(config.number("max_position_embeddings", usual.positions, kMostEmbeddings));
  read.shape.head = config.decoder_head();
  return read;
}

void give_biases(AttentionModules& attention, bool queries, bool output) {
  attention.query.bias = attention.key.bias = attention.value.bias = queries;
  attention.output.bias = output;
}

void read_attention_bias(Config& config, AttentionModules& attention, bool usual = false) {
  const bool bias = config.flag("attention_bias", usual);
  give_biases(attention, bias, bias);
}

void give_biases(FeedForwardModules& feed_forward, bool bias) {
  feed_forward.gate.bias = feed_forward.up.bias = feed_forward.down.bias = bias;
}

/// LayerNorms in place of RMSNorms.
void take_layer_norms(DecoderShape& shape, bool bias) {
  const auto change = [&](NormModule& norm) {
    norm.kind = NormKind::layer;
    norm.bias = bias;
  };
  for (BlockModules& block : shape.kinds) {
    change(block.around_attention.before);
    change(block.around_feed_forward.before);
  }
  change(shape.last_norm);
}

void norm_heads(AttentionModules& attention, NormKind kind, HeadNorm span, bool bias,
                const char* query = "q_norm", const char* key = "k_norm") {
  attention.query_norm = {.name = std::string("self_attn.") + query, .kind = kind, .bias = bias};
  attention.key_norm = {.name = std::string("self_attn.") + key, .kind = kind, .bias = bias};
  attention.norms_span = span;
}

/// A share of each head is rotated.
void rotate_part(ReadDecoder& read, std::int64_t features) {
  read.block().attention.rotated = features;
  read.shape.frequencies = {features / 2};
}

/// Gate and value by one product.
void join_gate(BlockModules& block) {
  block.feed_forward.gate = {};
  block.feed_forward.gate_in_up = true;
  block.feed_forward.up.name = "mlp.gate_up_proj";
}

void give_experts(BlockModules& block, const ExpertModules& experts) {
  block.feed_forward.experts = experts;
}

ExpertModules experts_of_mlp(const Config& config, std::int64_t count, std::int64_t active,
                             std::int64_t features) {
  if (count > kMostExpertFeatures / features)
    config.refuse("intermediate_size", "the experts of one layer are too many and too wide");
  return {.count = count,
          .active = active,
          .features = features,
          .router = {"mlp.gate"},
          .first_weight = "mlp.experts.gate_up_proj",
          .last_weight = "mlp.experts.down_proj"};
}

void share_expert(ExpertModules& experts, const std::string& module, std::int64_t features) {
  experts.shared_features = features;
  experts.shared_gate = {module + ".gate_proj"};
  experts.shared_up = {module + ".up_proj"};
  experts.shared_down = {module + ".down_proj"};
}

constexpr const char* kAttentionOrder =
    "self_attn.sinks self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj "
    "self_attn.q_norm self_attn.k_norm";
constexpr const char* kDenseOrder = " mlp.gate_proj mlp.up_proj mlp.down_proj";
constexpr const char* kNormOrder =
    " input_layernorm post_attention_layernorm pre_feedforward_layernorm "
    "post_feedforward_layernorm";

std::string order_of(std::string_view feed_forward) {
  return fmt::format("{} {}{}", kAttentionOrder, feed_forward, kNormOrder);
}

/// Where the class names its base so for answers by their span: for the sake of older checkpoints.
Described spans_as_transformer(ReadDecoder read) {
  read.shape.span_base = "transformer.";
  return read.described();
}

constexpr std::string_view kSaysExperts =
    "experts: every expert's parameters are there and DDP all-reduces them all, a token computes "
    "with "
    "the active ones; expert parallelism and its all-to-all are not simulated";

std::int64_t read_active(Config& config, std::string_view key, std::int64_t usual,
                         std::int64_t count) {
  const std::int64_t active = config.number(key, usual, kMostExperts);
  if (active > count)
    config.refuse(key, fmt::format("{} of {} experts cannot be active for a token", active, count));
  config.note(std::string(kSaysExperts));
  return active;
}

/// Experts of a width of their own. The fields are read one after the other, so that what is assumed of them is said in the
/// same order whatever the compiler.
ExpertModules read_experts(Config& config, std::int64_t count, std::string_view active_key,
                           std::int64_t usual_active, std::int64_t usual_features) {
  const std::int64_t active = read_active(config, active_key, usual_active, count);
  return experts_of_mlp(config, count, active,
                        config.number("moe_intermediate_size", usual_features, kMostFeedForward));
}

Described llama(Config& config) {
  ReadDecoder read = read_decoder(config, {.null_head_features = true});
  read_attention_bias(config, read.block().attention);
  give_biases(read.block().feed_forward, config.flag("mlp_bias", false));
  return spans_as_transformer(std::move(read));
}

Described mistral(Config& config) {
  return read_decoder(config, {.key_heads = 8,
                               .feed_forward = 14336,
                               .positions = 131072,
                               .null_head_features = true})
      .described();
}

Described mixtral(Config& config) {
  ReadDecoder read = read_decoder(
      config,
      {.key_heads = 8, .feed_forward = 14336, .positions = 131072, .null_head_features = true});
  const std::int64_t count = config.number("num_local_experts", 8, kMostExperts);
  give_experts(read.block(),
               experts_of_mlp(config, count, read_active(config, "num_experts_per_tok", 2, count),
                              read.llama.feed_forward));
  read.block().defined = order_of("mlp.gate mlp.experts");
  return read.described();
}

Described qwen2(Config& config) {
  ReadDecoder read = read_decoder(config, {.key_heads = 32,
                                           .feed_forward = 22016,
                                           .vocabulary = 151936,
                                           .positions = 32768,
                                           .null_key_heads = true});
  give_biases(read.block().attention, true, false);
  return spans_as_transformer(std::move(read));
}

/// What reads text in Qwen2-VL and Qwen2.5-VL: Qwen2 with other sizes where the file says nothing.
Described qwen2_vl_text(Config& config) {
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

Described qwen3(Config& config) {
  ReadDecoder read = read_decoder(config, {.key_heads = 32,
                                           .head_features = 128,
                                           .feed_forward = 22016,
                                           .vocabulary = 151936,
                                           .positions = 32768,
                                           .null_key_heads = true});
  read_attention_bias(config, read.block().attention);
  norm_heads(read.block().attention, NormKind::rms, HeadNorm::head, false);
  read.block().defined = order_of("mlp.gate_proj mlp.up_proj mlp.down_proj");
  return spans_as_transformer(std::move(read));
}

/// Every so many layers have experts, but for those listed as dense.
void alternate_experts(Config& config, ReadDecoder& read, const ExpertModules& experts,
                       std::string_view order) {
  const std::int64_t step = config.number("decoder_sparse_step", 1, kMostLayers);
  const auto dense =
      config.numbers("mlp_only_layers", kMostLayers).value_or(std::vector<std::int64_t>());
  BlockModules block = read.block();
  give_experts(block, experts);
  block.defined = order_of(order);
  read.shape.kinds.push_back(block);
  for (std::size_t layer = 0; layer < read.shape.layers.size(); ++layer) {
    const auto number = static_cast<std::int64_t>(layer);
    const bool listed = std::ranges::find(dense, number) != dense.end();
    read.shape.layers[layer] = !listed && (number + 1) % step == 0 ? 1 : 0;
  }
}

Described qwen2_moe(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 2048,
                                           .layers = 24,
                                           .heads = 16,
                                           .key_heads = 16,
                                           .feed_forward = 5632,
                                           .vocabulary = 151936,
                                           .positions = 32768});
  give_biases(read.block().attention, config.flag("qkv_bias", true), false);
  const std::int64_t count = config.number("num_experts", 60, kMostExperts);
  ExpertModules experts = read_experts(config, count, "num_experts_per_tok", 4, 1408);
  share_expert(experts, "mlp.shared_expert",
               config.number("shared_expert_intermediate_size", 5632, kMostFeedForward));
  experts.shared_weight = {"mlp.shared_expert_gate"};
  experts.shared_first = true;
  alternate_experts(config, read, experts,
                    "mlp.gate mlp.experts mlp.shared_expert mlp.shared_expert_gate");
  return read.described();
}

Described qwen3_moe(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 2048,
                                           .layers = 24,
                                           .heads = 32,
                                           .key_heads = 4,
                                           .feed_forward = 6144,
                                           .vocabulary = 151936,
                                           .positions = 32768});
  read_attention_bias(config, read.block().attention);
  norm_heads(read.block().attention, NormKind::rms, HeadNorm::head, false);
  read.block().defined = order_of("mlp.gate_proj mlp.up_proj mlp.down_proj");
  const std::int64_t count = config.number("num_experts", 128, kMostExperts);
  alternate_experts(config, read, read_experts(config, count, "num_experts_per_tok", 8, 768),
                    "mlp.experts mlp.gate");
  return spans_as_transformer(std::move(read));
}

/// Gemma scales what it looked up, and its heads are wider than their share.
ReadDecoder read_gemma(Config& config, const DecoderDefaults& usual) {
  ReadDecoder read = read_decoder(config, usual);
  read_attention_bias(config, read.block().attention);
  read.shape.scaled_words = true;
  read.block().feed_forward.activation = ActivationFunction::gelu;
  return read;
}

/// From Gemma 2 on a norm stands behind each branch, too.
void norm_both_sides(BlockModules& block) {
  const auto rms = [](const char* name) { return NormModule{.name = name, .kind = NormKind::rms}; };
  block.around_attention.inside = rms("post_attention_layernorm");
  block.around_feed_forward.before = rms("pre_feedforward_layernorm");
  block.around_feed_forward.inside = rms("post_feedforward_layernorm");
  block.defined = order_of("mlp.gate_proj mlp.up_proj mlp.down_proj");
}

Described gemma(Config& config) {
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

Described gemma2(Config& config) {
  ReadDecoder read = read_gemma(config, {.hidden = 2304,
                                         .layers = 26,
                                         .heads = 8,
                                         .key_heads = 4,
                                         .head_features = 256,
                                         .feed_forward = 9216,
                                         .vocabulary = 256000,
                                         .positions = 8192,
                                         .tied = true});
  norm_both_sides(read.block());
  return read.described();
}

/// Of each layer its kind of attention; where the file says nothing every sixth is full.
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

Described gemma3(Config& config) {
  ReadDecoder read = read_gemma(config, {.hidden = 2304,
                                         .layers = 26,
                                         .heads = 8,
                                         .key_heads = 4,
                                         .head_features = 256,
                                         .feed_forward = 9216,
                                         .vocabulary = 262208,
                                         .positions = 131072,
                                         .tied = true});
  norm_both_sides(read.block());
  norm_heads(read.block().attention, NormKind::rms, HeadNorm::head, false);
  read.block().attention.norms_last = true;
  const std::vector<bool> full = full_layers(config, read.shape.layers.size(), kGemmaPattern);
  const bool both = std::ranges::count(full, true) > 0 && std::ranges::count(full, false) > 0;
  if (both) read.shape.frequencies.push_back(read.llama.head_features / 2);
  return read.described();
}

struct FullLayers {
  std::optional<std::int64_t> head_features;
  std::optional<std::int64_t> key_heads;
};

/// What per_layer_config says of the layers of full attention; all of them must be alike.
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
      fields.fail("layers of full attention that differ are not built here",
                  "Record the job instead");
    full = one;
    first = false;
  }
  return full;
}

/// Of each layer its own heads: full attention has wider ones, and may use keys for values.
Described gemma4(Config& config) {
  ReadDecoder read = read_gemma(config, {.hidden = 2304,
                                         .layers = 30,
                                         .heads = 8,
                                         .key_heads = 4,
                                         .head_features = 256,
                                         .feed_forward = 9216,
                                         .vocabulary = 262144,
                                         .positions = 131072,
                                         .tied = true});
  norm_both_sides(read.block());
  norm_heads(read.block().attention, NormKind::rms, HeadNorm::head, false);
  read.block().attention.key_norm_last = true;
  if (config.count("hidden_size_per_layer_input", 256, kMostFeatures) > 0)
    config.refuse("hidden_size_per_layer_input", "embeddings for each layer are not built here",
                  "Record the job instead");
  if (config.count("num_kv_shared_layers", 0, kMostLayers) > 0)
    config.refuse("num_kv_shared_layers", "layers that share keys and values are not built here",
                  "Record the job instead");
  for (const char* key : {"use_double_wide_mlp", "vocab_size_per_layer_input", "num_experts",
                          "top_k_experts", "moe_intermediate_size"})
    config.optional(key);
  std::string experts_order;
  if (config.flag("enable_moe_block", false)) {
    const auto rms = [](const char* name) {
      return NormModule{.name = name, .kind = NormKind::rms};
    };
    const std::int64_t count = config.number("num_experts", 128, kMostExperts);
    ExpertModules experts = read_experts(config, count, "top_k_experts", 8, 704);
    experts.router = {"router.proj"};
    experts.router_scale = "router.scale";
    experts.expert_scale = "router.per_expert_scale";
    experts.first_weight = "experts.gate_up_proj";
    experts.last_weight = "experts.down_proj";
    experts.before_experts = rms("pre_feedforward_layernorm_2");
    experts.beside = rms("post_feedforward_layernorm_1");
    experts.behind = rms("post_feedforward_layernorm_2");
    give_experts(read.block(), experts);
    experts_order =
        " router.scale router.per_expert_scale router.proj experts post_feedforward_layernorm_1 "
        "post_feedforward_layernorm_2 pre_feedforward_layernorm_2";
  }
  read.block().defined = fmt::format(
      "self_attn.q_proj self_attn.q_norm self_attn.k_norm self_attn.k_proj self_attn.v_proj "
      "self_attn.o_proj{}{}{}",
      kDenseOrder, kNormOrder, experts_order);
  const bool keys_are_values = config.flag("attention_k_eq_v", false);
  BlockModules full = read.block();
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
  read.shape.kinds.push_back(full);
  const std::vector<bool> is_full = full_layers(config, read.shape.layers.size(), kGemmaPattern);
  const bool named = config.optional("layer_types").has_value();
  for (std::size_t layer = 0; layer < is_full.size(); ++layer) {
    const bool last = layer + 1 == is_full.size() && !named;  // full where the file names no kinds
    read.shape.layers[layer] = is_full[layer] || last ? 1 : 0;
    read.shape.single_buffers.push_back(1);  // layer_scalar
  }
  read.shape.frequencies.clear();
  for (const std::size_t kind : {std::size_t{1}, std::size_t{0}})
    if (std::ranges::count(read.shape.layers, kind) > 0)
      read.shape.frequencies.push_back(read.shape.kinds[kind].attention.head_features / 2);
  return read.described();
}

Described phi(Config& config) {
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

Described phi3(Config& config) {
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

Described olmo(Config& config) {
  ReadDecoder read = read_decoder(config, {.vocabulary = 50304});
  read_attention_bias(config, read.block().attention);
  take_layer_norms(read.shape, false);
  read.block().around_attention.before.weight = false;
  read.block().around_feed_forward.before.weight = false;
  read.shape.last_norm.weight = false;
  return read.described();
}

Described olmo2(Config& config) {
  ReadDecoder read = read_decoder(config, {.vocabulary = 50304});
  BlockModules& block = read.block();
  read_attention_bias(config, block.attention);
  norm_heads(block.attention, NormKind::rms, HeadNorm::all_heads, false);
  block.around_attention = {.inside = {.name = "post_attention_layernorm", .kind = NormKind::rms}};
  block.around_feed_forward = {
      .inside = {.name = "post_feedforward_layernorm", .kind = NormKind::rms}};
  block.defined = order_of("mlp.gate_proj mlp.up_proj mlp.down_proj");
  return read.described();
}

Described olmoe(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 2048,
                                           .layers = 16,
                                           .heads = 16,
                                           .feed_forward = 2048,
                                           .vocabulary = 50304,
                                           .positions = 4096});
  read_attention_bias(config, read.block().attention);
  norm_heads(read.block().attention, NormKind::rms, HeadNorm::all_heads, false);
  if (read.llama.head_features * read.llama.heads != read.llama.hidden)
    config.refuse("head_dim",
                  fmt::format("heads of {} features together and norms of them of {}: such a model "
                              "does not run",
                              read.llama.head_features * read.llama.heads, read.llama.hidden),
                  "Take head_dim out");
  const std::int64_t count = config.number("num_experts", 64, kMostExperts);
  give_experts(read.block(),
               experts_of_mlp(config, count, read_active(config, "num_experts_per_tok", 8, count),
                              read.llama.feed_forward));
  read.block().defined = order_of("mlp.gate mlp.experts");
  return read.described();
}

/// Fields that choose among the experts, and change no parameter.
void skip_routing(Config& config) {
  for (const char* key : {"n_group", "topk_group", "topk_method", "norm_topk_prob", "scoring_func",
                          "routed_scaling_factor", "moe_layer_freq", "ep_size", "seq_aux",
                          "num_nextn_predict_layers", "rope_interleave", "aux_loss_alpha"})
    if (const auto value = config.optional(key);
        value && std::string_view(key) == "num_nextn_predict_layers")
      config.note(
          "num_nextn_predict_layers: transformers builds no layers that predict further tokens");
}

struct DeepseekDefaults {
  DecoderDefaults decoder;
  std::int64_t experts;
  std::int64_t active;
  std::int64_t features;
  std::int64_t shared;
  std::int64_t dense;
};

/// First dense layers, then experts, of which some are shared.
void experts_behind_dense(Config& config, ReadDecoder& read, const DeepseekDefaults& usual,
                          bool correction_bias) {
  const std::int64_t count = config.number("n_routed_experts", usual.experts, kMostExperts);
  ExpertModules experts =
      read_experts(config, count, "num_experts_per_tok", usual.active, usual.features);
  const std::int64_t shared = config.count("n_shared_experts", usual.shared, kMostExperts);
  if (shared * experts.features > kMostFeedForward)
    config.refuse("n_shared_experts", "the shared experts are too wide");
  if (shared > 0) share_expert(experts, "mlp.shared_experts", shared * experts.features);
  const std::int64_t dense = config.count("first_k_dense_replace", usual.dense, kMostLayers);
  skip_routing(config);
  BlockModules block = read.block();
  give_experts(block, experts);
  block.defined = read.block().defined;
  const std::string dense_order = kDenseOrder;
  const std::size_t at = block.defined.find(dense_order);
  block.defined.replace(at, dense_order.size(), " mlp.experts mlp.gate mlp.shared_experts");
  read.shape.kinds.push_back(block);
  for (std::size_t layer = 0; layer < read.shape.layers.size(); ++layer) {
    read.shape.layers[layer] = static_cast<std::int64_t>(layer) >= dense ? 1 : 0;
    if (correction_bias && read.shape.layers[layer] == 1)
      read.shape.single_buffers.push_back(count);  // mlp.gate.e_score_correction_bias
  }
}

Described read_deepseek(Config& config, const DeepseekDefaults& usual, bool version3) {
  // Heads are sized by their own fields: head_dim, where it is there, repeats one of them.
  ReadDecoder read = read_decoder(config, usual.decoder);
  BlockModules& block = read.block();
  const bool bias = config.flag("attention_bias", false);
  LatentAttention latent;
  if (!config.says_null("q_lora_rank"))
    latent.query_features = config.number("q_lora_rank", 1536, kMostFeatures);
  latent.key_features = config.number("kv_lora_rank", 512, kMostFeatures);
  latent.value_features = config.number("v_head_dim", 128, kMostFeatures);
  const std::int64_t rotated = config.number("qk_rope_head_dim", 64, kMostFeatures);
  const std::int64_t head = config.number("qk_nope_head_dim", 128, kMostFeatures) + rotated;
  config.optional("qk_head_dim");
  if (head * read.llama.heads > kMostFeatures ||
      latent.value_features * read.llama.heads > kMostFeatures)
    config.refuse("num_attention_heads",
                  fmt::format("heads hold more than {} features together", kMostFeatures));
  latent.query_down = {"self_attn.q_a_proj", bias};
  latent.query_norm = {.name = "self_attn.q_a_layernorm", .kind = NormKind::rms};
  latent.key_down = {"self_attn.kv_a_proj_with_mqa", bias};
  latent.key_norm = {.name = "self_attn.kv_a_layernorm", .kind = NormKind::rms};
  latent.key_up = {"self_attn.kv_b_proj"};
  block.attention.key_heads = read.llama.heads;
  block.attention.head_features = head;
  block.attention.rotated = rotated;
  block.attention.query = {latent.query_features > 0 ? "self_attn.q_b_proj" : "self_attn.q_proj"};
  block.attention.key = block.attention.value = {};
  block.attention.output.bias = bias;
  block.attention.latent = latent;
  if (!version3) give_biases(block.feed_forward, config.flag("mlp_bias", false));
  block.defined = fmt::format(
      "self_attn.q_proj self_attn.q_a_proj self_attn.q_a_layernorm self_attn.q_b_proj "
      "self_attn.kv_a_proj_with_mqa self_attn.kv_a_layernorm self_attn.kv_b_proj "
      "self_attn.o_proj{}{}",
      kDenseOrder, kNormOrder);
  read.shape.frequencies = {rotated / 2};
  const bool biased = block.feed_forward.up.bias;
  experts_behind_dense(config, read, usual, version3);  // moves the blocks
  if (biased && read.shape.kinds[1].feed_forward.experts)
    for (LinearModule* linear : {&read.shape.kinds[1].feed_forward.experts->shared_gate,
                                 &read.shape.kinds[1].feed_forward.experts->shared_up,
                                 &read.shape.kinds[1].feed_forward.experts->shared_down})
      linear->bias = true;
  return read.described();
}

Described deepseek_v2(Config& config) {
  return read_deepseek(
      config,
      {.decoder = {.head_features = 64, .vocabulary = 102400, .null_head_features = true},
       .experts = 64,
       .active = 6,
       .features = 1407,
       .shared = 2,
       .dense = 0},
      false);
}

Described deepseek_v3(Config& config) {
  return read_deepseek(config,
                       {.decoder = {.hidden = 7168,
                                    .layers = 61,
                                    .heads = 128,
                                    .key_heads = 128,
                                    .head_features = 64,
                                    .feed_forward = 18432,
                                    .vocabulary = 129280,
                                    .positions = 4096,
                                    .null_key_heads = true,
                                    .null_head_features = true},
                        .experts = 256,
                        .active = 8,
                        .features = 2048,
                        .shared = 1,
                        .dense = 3},
                       true);
}

Described glm4_moe(Config& config) {
  const DeepseekDefaults usual = {.decoder = {.layers = 46,
                                              .heads = 96,
                                              .key_heads = 8,
                                              .feed_forward = 10944,
                                              .vocabulary = 151552,
                                              .positions = 131072},
                                  .experts = 128,
                                  .active = 8,
                                  .features = 1408,
                                  .shared = 1,
                                  .dense = 1};
  ReadDecoder read = read_decoder(config, usual.decoder);
  give_biases(read.block().attention, config.flag("attention_bias", false), false);
  if (config.flag("use_qk_norm", false)) {
    norm_heads(read.block().attention, NormKind::rms, HeadNorm::head, false);
    read.block().attention.norms_last = true;
  }
  read.block().defined = order_of("mlp.gate_proj mlp.up_proj mlp.down_proj");
  rotate_part(read,
              config.rotated_features(read.llama.head_features, "partial_rotary_factor", 0.5));
  experts_behind_dense(config, read, usual, true);
  return read.described();
}

Described gpt_oss(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 2880,
                                           .layers = 36,
                                           .heads = 64,
                                           .key_heads = 8,
                                           .head_features = 64,
                                           .feed_forward = 2880,
                                           .vocabulary = 201088,
                                           .positions = 131072});
  BlockModules& block = read.block();
  read_attention_bias(config, block.attention, true);
  block.attention.sinks = "self_attn.sinks";
  const std::int64_t count = config.number("num_local_experts", 128, kMostExperts);
  config.optional("experts_per_token");
  ExpertModules experts = experts_of_mlp(
      config, count, read_active(config, "num_experts_per_tok", 4, count), read.llama.feed_forward);
  experts.router = {"mlp.router", true};
  experts.first_bias = "mlp.experts.gate_up_proj_bias";
  experts.last_bias = "mlp.experts.down_proj_bias";
  experts.input_first = true;
  give_experts(block, experts);
  block.defined = order_of(
      "mlp.router mlp.experts.gate_up_proj mlp.experts.gate_up_proj_bias mlp.experts.down_proj "
      "mlp.experts.down_proj_bias");
  config.optional("initial_context_length");
  return read.described();
}

Described stablelm(Config& config) {
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

Described granite(Config& config) {
  ReadDecoder read = read_decoder(config, {});
  read_attention_bias(config, read.block().attention);
  give_biases(read.block().feed_forward, config.flag("mlp_bias", false));
  return read.described();
}

Described granitemoe(Config& config) {
  ReadDecoder read = read_decoder(config, {});
  BlockModules& block = read.block();
  read_attention_bias(config, block.attention);
  const std::int64_t count = config.number("num_local_experts", 8, kMostExperts);
  ExpertModules experts = experts_of_mlp(
      config, count, read_active(config, "num_experts_per_tok", 2, count), read.llama.feed_forward);
  experts.router = {"block_sparse_moe.router"};
  experts.first_weight = "block_sparse_moe.experts.gate_up_proj";
  experts.last_weight = "block_sparse_moe.experts.down_proj";
  give_experts(block, experts);
  block.defined = fmt::format("{}{} block_sparse_moe", kAttentionOrder, kNormOrder);
  return read.described();
}

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

Described glm(Config& config) {
  return read_glm(config).described();
}

Described glm4(Config& config) {
  ReadDecoder read = read_glm(config);
  read.block().around_attention.inside = {.name = "post_self_attn_layernorm",
                                          .kind = NormKind::rms};
  read.block().around_feed_forward.inside = {.name = "post_mlp_layernorm", .kind = NormKind::rms};
  return read.described();
}

ReadDecoder read_cohere(Config& config, std::int64_t head_features) {
  ReadDecoder read = read_decoder(config, {.hidden = 8192,
                                           .layers = 40,
                                           .heads = 64,
                                           .head_features = head_features,
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

Described cohere(Config& config) {
  ReadDecoder read = read_cohere(config, 0);
  if (config.flag_or_null("use_qk_norm", false)) {
    norm_heads(read.block().attention, NormKind::layer, HeadNorm::own, false);
    read.block().attention.norms_last = true;
  }
  read.block().defined = order_of("mlp.gate_proj mlp.up_proj mlp.down_proj");
  return read.described();
}

Described cohere2(Config& config) {
  return read_cohere(config, 0).described();
}

Described starcoder2(Config& config) {
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

Described smollm3(Config& config) {
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

Described nemotron(Config& config) {
  if (!config.optional("num_key_value_heads"))
    config.refuse("num_key_value_heads", "num_key_value_heads is missing",
                  "Write it: its class takes no usual value");
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
  // LayerNorm1P adds one to its weight, which backward comes to last.
  read.block().around_attention.before.kind = NormKind::layer_plus_one;
  read.block().around_feed_forward.before.kind = NormKind::layer_plus_one;
  read.shape.last_norm.kind = NormKind::layer_plus_one;
  rotate_part(read,
              config.rotated_features(read.llama.head_features, "partial_rotary_factor", 0.5));
  return spans_as_transformer(std::move(read));
}

}  // namespace

std::vector<ConfigFamily> decoder_families() {
  const std::vector<FieldAlias> of_experts = {{"num_local_experts", "n_routed_experts"},
                                              {"num_mtp_layers", "num_nextn_predict_layers"}};
  return {{"llama", "Llama", llama},
          {"mistral", "Mistral", mistral},
          {"mixtral", "Mixtral", mixtral, {{"num_experts", "num_local_experts"}}},
          {"qwen2", "Qwen2", qwen2},
          {"qwen3", "Qwen3", qwen3},
          {"qwen2_moe", "Qwen2Moe", qwen2_moe},
          {"qwen3_moe", "Qwen3Moe", qwen3_moe, {{"num_local_experts", "num_experts"}}},
          {"gemma", "Gemma", gemma},
          {"gemma2", "Gemma2", gemma2},
          {"gemma3_text", "Gemma3", gemma3},
          {"gemma4_text", "Gemma4", gemma4},
          {"phi", "Phi", phi},
          {"phi3", "Phi3", phi3},
          {"olmo", "Olmo", olmo},
          {"olmo2", "Olmo2", olmo2},
          {"olmoe", "Olmoe", olmoe, {{"num_local_experts", "num_experts"}}},
          {"deepseek_v2", "DeepseekV2", deepseek_v2, {{"num_experts", "n_routed_experts"}}},
          {"deepseek_v3", "DeepseekV3", deepseek_v3, of_experts},
          {"gpt_oss", "GptOss", gpt_oss, {{"num_experts", "num_local_experts"}}},
          {"stablelm", "StableLm", stablelm},
          {"granite", "Granite", granite},
          {"granitemoe", "GraniteMoe", granitemoe},
          {"glm", "Glm", glm},
          {"glm4", "Glm4", glm4},
          {"glm4_moe", "Glm4Moe", glm4_moe, of_experts},
          {"cohere", "Cohere", cohere},
          {"cohere2", "Cohere2", cohere2},
          {"starcoder2", "Starcoder2", starcoder2},
          {"smollm3", "SmolLM3", smollm3},
          {"nemotron", "Nemotron", nemotron}};
}

std::vector<ConfigFamily> part_families() {
  return {{"qwen2_vl_text", "Qwen2VLText", qwen2_vl_text},
          {"qwen2_5_vl_text", "Qwen2_5_VLText", qwen2_vl_text}};
}

}  // namespace ddpsim
