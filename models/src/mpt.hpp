// MPT as Hugging Face's MptForCausalLM builds it. Linears and LayerNorms have no biases. Distance
// biases replace positions (ALiBi, no parameters). The output layer is tied to the embedding.
//
// Source of the structure: MosaicML, "Introducing MPT-7B" (2023), and its llm-foundry, which trains
// the same layers with fused attention.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"
#include "model_head.hpp"

namespace ddpsim {

struct MptShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  bool tied = true;
  DecoderHead head;
};

/// `tokens` is the length of a sequence.
Model build_model(const std::string& name, const MptShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
