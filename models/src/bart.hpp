// An encoder and a decoder of the kind of BART: learned positions, biases everywhere, the norm behind each sum (BART,
// Marian) or before each branch (mBART, Pegasus, Whisper), an output layer tied to the embedding. Whisper's encoder reads
// sound by two convolutions.
//
// Source of the structure: Lewis et al., "BART" (2019); Zhang et al., "PEGASUS" (2020); Radford et al., "Robust Speech
// Recognition via Large-Scale Weak Supervision" (2022). Defined key, value, query; run query, key, value.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

enum class BartHead {
  words,     ///< ForConditionalGeneration
  sequence,  ///< ForSequenceClassification
  span,      ///< ForQuestionAnswering
  none,      ///< Model
};

struct BartStack {
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t positions = 0;  ///< rows of the learned embedding
};

struct BartShape {
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  BartStack encoder;
  BartStack decoder;
  bool norm_first = false;
  bool embedding_norm = false;   ///< layernorm_embedding
  bool last_norm = false;        ///< layer_norm behind the blocks
  bool fixed_positions = false;  ///< sines: a parameter that does not train
  std::int64_t mel_bins = 0;     ///< Whisper's: the encoder reads sound
  bool key_bias = true;
  BartHead head = BartHead::words;
  std::int64_t labels = 0;
  bool logits_bias = true;  ///< final_logits_bias, a buffer
  bool dropout = true;
};

/// `tokens`: of the source, and as many of the target. Whisper's source is `encoder.positions` frames.
Model build_model(const std::string& name, const BartShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
