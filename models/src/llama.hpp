// Llama as Hugging Face's LlamaForCausalLM builds it, and its relatives of the same structure: Mistral, Qwen2 (which
// gives query, key and value a bias).
//
// Source of the structure: Touvron et al., "LLaMA" (2023): RMSNorm before each branch, rotary positions (no
// parameters), SwiGLU; "Llama 2" (2023): several query heads share a key head. Norms and rotations are written out in
// small kernels, as modeling_llama.py of transformers 5 does; nothing is compiled. Buffers: the rotation's frequencies,
// twice.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct LlamaShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t head_features = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  bool tied = false;  ///< the output layer's weight is the embedding's
  bool qkv_bias = false;
  bool output_bias = false;  ///< of the attention
  bool feed_forward_bias = false;
};

/// `tokens`: tokens of a sequence.
Model build_model(const std::string& name, const LlamaShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
