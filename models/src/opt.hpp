// OPT as Hugging Face's OPTForCausalLM builds it: learned positions (two rows more than tokens), a
// LayerNorm before each branch, ReLU, and an output layer tied to the embedding. In the 350M model,
// the LayerNorm follows each sum, and the embedding is narrower than the layers.
//
// Source of the structure: Zhang et al., "OPT: Open Pre-trained Transformer Language Models"
// (2022), table 1.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"
#include "model_head.hpp"

namespace ddpsim {

struct OptShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;
  /// Features of an embedded token. They differ from `hidden` only in the 350M model.
  std::int64_t embedded = 0;
  bool norm_first = true;
  bool final_norm = true;  ///< only with norm_first
  bool bias = true;
  bool tied = true;
  bool dropout = true;
  DecoderHead head;
};

/// `tokens` is the length of a sequence.
Model build_model(const std::string& name, const OptShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
