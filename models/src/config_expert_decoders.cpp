// Reads the config.json of decoders with experts. Each function states how a family differs from
// Llama.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config_decoders.hpp"
#include "config_experts.hpp"

namespace ddpsim {
namespace {

/// Adds experts to every n-th layer, except to layers listed as dense.
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

/// Fields that control the choice of experts and change no parameter.
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

/// Dense layers first, then layers with experts, some of which are shared.
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

DescribedModel read_deepseek(Config& config, const DeepseekDefaults& usual, bool version3) {
  // Heads are sized by fields of their own. If head_dim is present, it repeats one of them.
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

}  // namespace

DescribedModel mixtral(Config& config) {
  ReadDecoder read = read_decoder(
      config,
      {.key_heads = 8, .feed_forward = 14336, .positions = 131072, .null_head_features = true});
  const std::int64_t count = config.number("num_local_experts", 8, kMostExperts);
  give_experts(read.block(), read_experts_of_block_width(config, read, count, 2));
  read.block().defined = order_of("mlp.gate mlp.experts");
  return read.described();
}

DescribedModel qwen2_moe(Config& config) {
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

DescribedModel qwen3_moe(Config& config) {
  ReadDecoder read = read_decoder(config, {.hidden = 2048,
                                           .layers = 24,
                                           .heads = 32,
                                           .key_heads = 4,
                                           .feed_forward = 6144,
                                           .vocabulary = 151936,
                                           .positions = 32768});
  read_attention_bias(config, read.block().attention);
  norm_each_head(read.block().attention);
  read.block().defined = order_of_dense();
  const std::int64_t count = config.number("num_experts", 128, kMostExperts);
  alternate_experts(config, read, read_experts(config, count, "num_experts_per_tok", 8, 768),
                    "mlp.experts mlp.gate");
  return spans_as_transformer(std::move(read));
}

DescribedModel olmoe(Config& config) {
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
  give_experts(read.block(), read_experts_of_block_width(config, read, count, 8));
  read.block().defined = order_of("mlp.gate mlp.experts");
  return read.described();
}

DescribedModel deepseek_v2(Config& config) {
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

DescribedModel deepseek_v3(Config& config) {
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

DescribedModel glm4_moe(Config& config) {
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
    norm_each_head(read.block().attention);
    read.block().attention.norms_last = true;
  }
  read.block().defined = order_of_dense();
  rotate_part(read,
              config.rotated_features(read.llama.head_features, "partial_rotary_factor", 0.5));
  experts_behind_dense(config, read, usual, true);
  return read.described();
}

DescribedModel gpt_oss(Config& config) {
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
  read.attention = AttentionKernel::eager;  // fused kernels have no sinks
  const std::int64_t count = config.number("num_local_experts", 128, kMostExperts);
  config.optional("experts_per_token");
  ExpertModules experts = read_experts_of_block_width(config, read, count, 4);
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

DescribedModel granitemoe(Config& config) {
  ReadDecoder read = read_decoder(config, {});
  BlockModules& block = read.block();
  read_attention_bias(config, block.attention);
  const std::int64_t count = config.number("num_local_experts", 8, kMostExperts);
  ExpertModules experts = read_experts_of_block_width(config, read, count, 2);
  experts.router = {"block_sparse_moe.router"};
  experts.first_weight = "block_sparse_moe.experts.gate_up_proj";
  experts.last_weight = "block_sparse_moe.experts.down_proj";
  give_experts(block, experts);
  block.defined = fmt::format("{}{} block_sparse_moe", kAttentionOrder, kNormOrder);
  return read.described();
}

}  // namespace ddpsim
