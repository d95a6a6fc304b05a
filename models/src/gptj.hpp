// GPT-J as Hugging Face's GPTJForCausalLM builds it: attention and feed-forward behind one LayerNorm, side by side;
// rotary positions on a share of each head; an output layer of its own, with a bias.
//
// Source of the structure: Wang and Komatsuzaki, "GPT-J-6B" (2021). Buffers: the table of sines and cosines.
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
  std::int64_t rotated = 0;  ///< features of each head
  bool tied = false;
  DecoderHead head;
};

/// `tokens`: tokens of a sequence.
Model build_model(const std::string& name, const GptjShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
