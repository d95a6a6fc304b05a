// GPT-2 as Hugging Face's GPT2LMHeadModel builds it: token and position embeddings, blocks with a
// LayerNorm before each branch, a last LayerNorm, and an output layer tied to the token embedding.
//
// Source of the structure: Radford et al., "Language Models are Unsupervised Multitask Learners"
// (2019), table 2. Buffers are those of GPT2Attention in transformers 4.12, 4.30 and 4.57. Each
// layer has a scalar and a causal mask with one byte per entry (uint8, later bool). Release 2.1
// kept the mask in float32; release 5.23 has none.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"
#include "model_head.hpp"

namespace ddpsim {

inline constexpr std::int64_t kGpt2Positions = 1024;

struct Gpt2Shape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 50257;
  std::int64_t positions = kGpt2Positions;
  bool tied = true;
  bool dropout = true;
  bool mask_buffers = true;  ///< as before transformers 5
  DecoderHead head;
};

/// `tokens` is the length of a sequence.
Model build_model(const std::string& name, const Gpt2Shape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
