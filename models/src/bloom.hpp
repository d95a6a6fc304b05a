// BLOOM as Hugging Face's BloomForCausalLM builds it. A LayerNorm follows the embedding and
// precedes each branch. Distance biases replace positions (ALiBi, no parameters). The output layer
// is tied to the embedding.
//
// Source of the structure: BigScience Workshop, "BLOOM" (2022), section 3.2. GELU uses its tanh
// approximation, scripted into one kernel.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"
#include "model_head.hpp"

namespace ddpsim {

struct BloomShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t vocabulary = 0;
  bool tied = true;
  DecoderHead head;
};

/// `tokens` is the length of a sequence.
Model build_model(const std::string& name, const BloomShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
