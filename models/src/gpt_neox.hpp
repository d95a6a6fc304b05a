// GPT-NeoX as Hugging Face's GPTNeoXForCausalLM builds it (GPT-NeoX-20B, Pythia). Attention and
// feed-forward read the same input in parallel, unless configured otherwise. Rotary positions apply
// to a part of each head.
//
// Source of the structure: Black et al., "GPT-NeoX-20B" (2022). The output layer's name is that of
// transformers 5 (before: embed_out). Buffers: the rotation's frequencies, twice.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"
#include "model_head.hpp"

namespace ddpsim {

struct GptNeoxShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  std::int64_t rotated = 0;  ///< rotated features of each head
  bool parallel = true;      ///< attention and feed-forward read the same input
  bool attention_bias = true;
  bool tied = false;
  DecoderHead head;
};

/// `tokens` is the length of a sequence.
Model build_model(const std::string& name, const GptNeoxShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
