// Falcon as Hugging Face's FalconForCausalLM builds it. The 7B model has one key head, and a single
// LayerNorm in front of attention and feed-forward, which run in parallel. The 40B and 180B models
// have several key heads and one LayerNorm for each of the two branches.
//
// Source of the structure: Almazrouei et al., "The Falcon Series of Open Language Models" (2023).
// Buffers: the rotation's frequencies, twice.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"
#include "model_head.hpp"

namespace ddpsim {

struct FalconShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  bool parallel = true;    ///< attention and feed-forward read the same input
  bool two_norms = false;  ///< a norm for each parallel branch
  /// Whether positions are rotary embeddings. False: biases by distance (ALiBi).
  bool rotary = true;
  bool bias = false;
  bool tied = true;
  DecoderHead head;
};

/// `tokens` is the length of a sequence.
Model build_model(const std::string& name, const FalconShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
