// Decoders built like Llama: their fields in a config.json, and the changes that a family makes to
// the blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config_fields.hpp"
#include "decoder.hpp"

namespace ddpsim {

/// Defaults of a class. For some fields, 0 has the meaning given in their comment.
struct DecoderDefaults {
  std::int64_t hidden = 4096;
  std::int64_t layers = 32;
  std::int64_t heads = 32;
  std::int64_t key_heads = 0;      ///< 0: as many as heads
  std::int64_t head_features = 0;  ///< 0: hidden divided by heads
  std::int64_t feed_forward = 11008;
  std::int64_t vocabulary = 32000;
  std::int64_t positions = 2048;
  bool tied = false;
  /// Null means as many as heads. This also holds if that is the default.
  bool null_key_heads = false;
  bool null_head_features = false;  ///< null means hidden divided by heads
};

struct ReadDecoder {
  LlamaShape llama;
  DecoderShape shape;
  std::int64_t usual_tokens = kUsualTokens;
  /// eager: transformers has no other kernel for this family.
  AttentionKernel attention = AttentionKernel::sdpa;

  BlockModules& block() { return shape.kinds.front(); }
  DescribedModel described() const {
    return described_as(shape, usual_tokens, kMostTokens, attention);
  }
};

ReadDecoder read_decoder(Config& config, const DecoderDefaults& usual);

void give_biases(AttentionModules& attention, bool queries, bool output);
void give_biases(FeedForwardModules& feed_forward, bool bias);
void read_attention_bias(Config& config, AttentionModules& attention, bool usual = false);

/// Replaces RMSNorms by LayerNorms.
void take_layer_norms(DecoderShape& shape, bool bias);
void norm_heads(AttentionModules& attention, NormKind kind, HeadNorm span, bool bias,
                const char* query = "q_norm", const char* key = "k_norm");
/// Adds an RMSNorm over the features of each head.
void norm_each_head(AttentionModules& attention);

/// Rotates only a part of each head.
void rotate_part(ReadDecoder& read, std::int64_t features);
/// Computes gate and value by one product.
void join_gate(BlockModules& block);

inline constexpr const char* kAttentionOrder =
    "self_attn.sinks self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj "
    "self_attn.q_norm self_attn.k_norm";
inline constexpr const char* kDenseOrder = " mlp.gate_proj mlp.up_proj mlp.down_proj";
inline constexpr const char* kNormOrder =
    " input_layernorm post_attention_layernorm pre_feedforward_layernorm "
    "post_feedforward_layernorm";
/// Definition order: attention, then the modules of `feed_forward`, then norms.
std::string order_of(std::string_view feed_forward);
/// Definition order with a feed-forward without experts.
std::string order_of_dense();

/// For classes that name their base "transformer" for question answering, to load older
/// checkpoints.
DescribedModel spans_as_transformer(ReadDecoder read);

}  // namespace ddpsim
