// GPT-J as Hugging Face's GPTJForCausalLM builds it. Attention and feed-forward run in parallel
// after one LayerNorm. Rotary positions apply to a part of each head. The output layer is not tied
// and has a bias.
//
// Source of the structure: Wang and Komatsuzaki, "GPT-J-6B" (2021). Buffers: the table of sines and
// cosines.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"
#include "model_head.hpp"

namespace ddpsim {

struct GptjShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;
  std::int64_t rotated = 0;  ///< rotated features of each head
  bool tied = false;
  DecoderHead head;
};

/// `tokens` is the length of a sequence.
Model build_model(const std::string& name, const GptjShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
