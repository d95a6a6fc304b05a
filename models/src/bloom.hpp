// BLOOM as Hugging Face's BloomForCausalLM builds it: a LayerNorm behind the embedding and before each branch, biases
// by distance instead of positions (ALiBi, no parameters), an output layer tied to the embedding.
//
// Source of the structure: BigScience Workshop, "BLOOM" (2022), section 3.2. GELU is its tanh approximation, scripted:
// one kernel.
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

/// `tokens`: tokens of a sequence.
Model build_model(const std::string& name, const BloomShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
