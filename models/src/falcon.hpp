// Falcon as Hugging Face's FalconForCausalLM builds it. 7B: one key head for all, attention and feed-forward behind one
// LayerNorm, side by side. 40B and 180B: several key heads, a LayerNorm for each of the two.
//
// Source of the structure: Almazrouei et al., "The Falcon Series of Open Language Models" (2023). Buffers: the
// rotation's frequencies, twice.
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
  bool parallel = true;    ///< attention and feed-forward beside each other
  bool two_norms = false;  ///< one for each of them, where they are
  bool rotary = true;      ///< else biases by distance
  bool bias = false;
  bool tied = true;
  DecoderHead head;
};

/// `tokens`: tokens of a sequence.
Model build_model(const std::string& name, const FalconShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
