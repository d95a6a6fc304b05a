// Reads the config.json of decoders with a structure of their own: GPT-2, GPT-NeoX, OPT, BLOOM,
// MPT, GPT-J, Falcon.
#include <fmt/format.h>

#include "config_fields.hpp"

namespace ddpsim {
namespace {

DescribedModel gpt2(Config& config) {
  Gpt2Shape shape;
  shape.hidden = config.number("n_embd", 768, kMostFeatures);
  shape.layers = config.number("n_layer", 12, kMostLayers);
  shape.heads = config.number("n_head", 12, kMostHeads);
  config.require_multiple("n_embd", shape.hidden, "n_head", shape.heads);
  shape.feed_forward =
      config.optional_number("n_inner", kMostFeedForward).value_or(4 * shape.hidden);
  shape.vocabulary = config.number("vocab_size", 50257, kMostEmbeddings);
  shape.positions = config.number("n_positions", 1024, kMostTokens);
  shape.tied = config.flag("tie_word_embeddings", true);
  shape.dropout = config.share("resid_pdrop", 0.1) > 0;
  shape.mask_buffers = false;
  config.may_repeat("n_ctx", shape.positions, "n_positions");
  shape.head = config.decoder_head("classifier");
  return described_as(shape, at_most_usual(shape.positions), shape.positions);
}

DescribedModel gpt_neox(Config& config) {
  GptNeoxShape shape;
  shape.hidden = config.number("hidden_size", 6144, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", 44, kMostLayers);
  shape.heads = config.number("num_attention_heads", 64, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  shape.feed_forward = config.number("intermediate_size", 24576, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", 50432, kMostEmbeddings);
  shape.rotated = config.rotated_features(shape.hidden / shape.heads, "rotary_pct", 0.25);
  shape.parallel = config.flag("use_parallel_residual", true);
  shape.attention_bias = config.flag("attention_bias", true);
  shape.tied = config.flag("tie_word_embeddings", false);
  shape.head = config.decoder_head("classifier");
  return described_as(
      shape, at_most_usual(config.number("max_position_embeddings", 2048, kMostEmbeddings)));
}

DescribedModel opt(Config& config) {
  OptShape shape;
  shape.hidden = config.number("hidden_size", 768, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", 12, kMostLayers);
  shape.heads = config.number("num_attention_heads", 12, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  shape.feed_forward = config.number("ffn_dim", 3072, kMostFeedForward);
  shape.vocabulary = config.number("vocab_size", 50272, kMostEmbeddings);
  shape.positions = config.number("max_position_embeddings", 2048, kMostTokens);
  shape.embedded =
      config.optional_number("word_embed_proj_dim", kMostFeatures).value_or(shape.hidden);
  shape.norm_first = config.flag("do_layer_norm_before", true);
  config.refuse_null("_remove_final_layer_norm", "false");
  const auto no_final = config.optional("_remove_final_layer_norm");
  shape.final_norm = !(no_final && no_final->boolean());
  shape.bias = config.flag("enable_bias", true);
  config.require_flag("layer_norm_elementwise_affine", true,
                      "norms without a weight are not supported");
  shape.tied = config.flag("tie_word_embeddings", true);
  shape.dropout = config.share("dropout", 0.1) > 0;
  shape.head = config.decoder_head();
  return described_as(shape, at_most_usual(shape.positions), shape.positions);
}

DescribedModel bloom(Config& config) {
  BloomShape shape;
  shape.hidden = config.number("hidden_size", 64, kMostFeatures);
  shape.layers = config.number("n_layer", 2, kMostLayers);
  shape.heads = config.number("n_head", 8, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "n_head", shape.heads);
  shape.vocabulary = config.number("vocab_size", 250880, kMostEmbeddings);
  shape.tied = config.flag("tie_word_embeddings", true);
  // Fields of the published files that its class does not read.
  for (const char* key : {"skip_bias_add", "skip_bias_add_qkv"}) config.optional(key);
  config.may_repeat("n_inner", 4 * shape.hidden, "the feed-forward that is built");
  shape.head = config.decoder_head("classifier");
  return described_as(shape, kUsualTokens, kMostTokens, AttentionKernel::eager);
}

DescribedModel mpt(Config& config) {
  MptShape shape;
  shape.hidden = config.number("d_model", 2048, kMostFeatures);
  shape.layers = config.number("n_layers", 24, kMostLayers);
  shape.heads = config.number("n_heads", 16, kMostHeads);
  config.require_multiple("d_model", shape.hidden, "n_heads", shape.heads);
  constexpr std::int64_t kExpansion = 4;
  shape.feed_forward = kExpansion * shape.hidden;
  config.may_repeat("expansion_ratio", kExpansion, "the one that is built");
  for (const char* key : {"no_bias", "norm_type", "attn_config", "learned_pos_emb", "emb_pdrop",
                          "embedding_fraction"})
    config.optional(key);
  shape.vocabulary = config.number("vocab_size", 50368, kMostEmbeddings);
  shape.tied = config.flag("tie_word_embeddings", true);
  const std::int64_t tokens = config.number("max_seq_len", 2048, kMostEmbeddings);
  shape.head = config.decoder_head("classifier");
  return described_as(shape, at_most_usual(tokens), kMostTokens, AttentionKernel::eager);
}

DescribedModel gptj(Config& config) {
  GptjShape shape;
  shape.hidden = config.number("n_embd", 4096, kMostFeatures);
  shape.layers = config.number("n_layer", 28, kMostLayers);
  shape.heads = config.number("n_head", 16, kMostHeads);
  config.require_multiple("n_embd", shape.hidden, "n_head", shape.heads);
  shape.feed_forward =
      config.optional_number("n_inner", kMostFeedForward).value_or(4 * shape.hidden);
  shape.vocabulary = config.number("vocab_size", 50400, kMostEmbeddings);
  shape.positions = config.number("n_positions", 2048, kMostTokens);
  shape.rotated = config.number("rotary_dim", 64, kMostFeatures);
  shape.tied = config.flag("tie_word_embeddings", false);
  config.may_repeat("n_ctx", shape.positions, "n_positions");
  if (shape.rotated > shape.hidden / shape.heads)
    config.refuse("rotary_dim", fmt::format("rotary_dim {} is wider than a head, {}", shape.rotated,
                                            shape.hidden / shape.heads));
  shape.head = config.decoder_head();
  return described_as(shape, at_most_usual(shape.positions), shape.positions);
}

DescribedModel falcon(Config& config) {
  FalconShape shape;
  shape.hidden = config.number("hidden_size", 4544, kMostFeatures);
  shape.layers = config.number("num_hidden_layers", 32, kMostLayers);
  shape.heads = config.number("num_attention_heads", 71, kMostHeads);
  config.require_multiple("hidden_size", shape.hidden, "num_attention_heads", shape.heads);
  config.optional("num_kv_heads");
  const bool newer = config.flag_or_null("new_decoder_architecture", false);
  const bool one_key_head = config.flag_or_null("multi_query", true) && !newer;
  shape.key_heads = shape.heads;
  if (newer)
    shape.key_heads = config.optional_number("num_kv_heads", kMostHeads).value_or(shape.heads);
  else if (one_key_head)
    shape.key_heads = 1;
  config.require_multiple("num_attention_heads", shape.heads, "num_kv_heads", shape.key_heads);
  shape.feed_forward =
      config.optional_number("ffn_hidden_size", kMostFeedForward).value_or(4 * shape.hidden);
  shape.vocabulary = config.number("vocab_size", 65024, kMostEmbeddings);
  shape.parallel = config.flag_or_null("parallel_attn", true);
  if (newer && !shape.parallel)
    config.refuse("parallel_attn",
                  "a model of new_decoder_architecture without parallel_attn does not run",
                  "Set parallel_attn to true");
  const bool two_norms =
      config.optional_number("num_ln_in_parallel_attn", 2).value_or(newer ? 2 : 1) == 2;
  if (two_norms && shape.parallel && !newer)
    config.refuse("num_ln_in_parallel_attn", "two parallel norms need new_decoder_architecture",
                  "Set num_ln_in_parallel_attn to 1, or new_decoder_architecture to true");
  shape.two_norms = newer && two_norms;
  shape.rotary = !config.flag_or_null("alibi", false);
  shape.bias = config.flag_or_null("bias", false);
  config.may_repeat("n_layer", shape.layers, "num_hidden_layers");
  config.may_repeat("n_head", shape.heads, "num_attention_heads");
  config.may_repeat("n_head_kv", shape.key_heads, "the heads of keys that are built");
  shape.tied = config.flag("tie_word_embeddings", true);
  const std::int64_t tokens = config.number("max_position_embeddings", 2048, kMostEmbeddings);
  shape.head = config.decoder_head("classifier");
  // One key head serves all heads. None of PyTorch's fused kernels supports this.
  return described_as(shape, at_most_usual(tokens), kMostTokens,
                      one_key_head ? AttentionKernel::eager : AttentionKernel::sdpa);
}

}  // namespace

std::vector<ConfigFamily> older_decoder_families() {
  const std::vector<FieldAlias> of_gpt2 = {{"hidden_size", "n_embd"},
                                           {"max_position_embeddings", "n_positions"},
                                           {"num_attention_heads", "n_head"},
                                           {"num_hidden_layers", "n_layer"}};
  return {{"gpt2", "GPT2", gpt2, of_gpt2},
          {"gpt_neox", "GPTNeoX", gpt_neox},
          {"opt", "OPT", opt},
          {"bloom",
           "Bloom",
           bloom,
           {{"n_embed", "hidden_size"},
            {"num_hidden_layers", "n_layer"},
            {"num_attention_heads", "n_head"}}},
          {"mpt",
           "Mpt",
           mpt,
           {{"num_attention_heads", "n_heads"},
            {"hidden_size", "d_model"},
            {"num_hidden_layers", "n_layers"}}},
          {"gptj", "GPTJ", gptj, of_gpt2},
          {"falcon", "Falcon", falcon, {{"n_embed", "hidden_size"}}}};
}

}  // namespace ddpsim
