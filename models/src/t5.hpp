// T5 as Hugging Face's T5ForConditionalGeneration builds it: an encoder and a decoder, RMSNorm
// before each branch, and no biases in Linears. The first block's attention learns a bias of the
// scores by distance, which all blocks use. The output layer is tied to the embedding. transformers
// 5 ties it even if the config says otherwise (T5 1.1).
//
// Source of the structure: Raffel et al., "Exploring the Limits of Transfer Learning with a Unified
// Text-to-Text Transformer" (2020), section 2.1. Version 1.1 has a gated GELU (Shazeer, "GLU
// Variants Improve Transformer", 2020).
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

enum class T5Head {
  words,     ///< T5ForConditionalGeneration
  none,      ///< T5Model
  encoder,   ///< T5EncoderModel: no decoder
  sequence,  ///< T5ForSequenceClassification
  tokens,    ///< T5ForTokenClassification: no decoder
  span,      ///< T5ForQuestionAnswering
};

struct T5Shape {
  std::int64_t layers = 0;  ///< layers of the encoder
  std::int64_t decoder_layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t head_features = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 0;
  std::int64_t distances = 32;  ///< rows of the distance bias
  bool gated = false;
  bool dropout = true;
  T5Head head = T5Head::words;
  std::int64_t labels = 2;
};

/// `tokens` is the length of the source, and of the target too.
Model build_model(const std::string& name, const T5Shape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
