// Encoder-decoder models like BART: learned positions, biases everywhere, and an output layer tied
// to the embedding. The norm follows each sum (BART, Marian) or precedes each branch (mBART,
// Pegasus, Whisper). Whisper's encoder reads sound through two convolutions.
//
// Source of the structure: Lewis et al., "BART" (2019); Zhang et al., "PEGASUS" (2020); Radford et
// al., "Robust Speech Recognition via Large-Scale Weak Supervision" (2022). Attention defines key,
// value, query and runs query, key, value.
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
  bool last_norm = false;        ///< layer_norm after the blocks
  bool fixed_positions = false;  ///< sinusoidal: a parameter that does not train
  std::int64_t mel_bins = 0;     ///< for Whisper, whose encoder reads sound
  bool key_bias = true;
  BartHead head = BartHead::words;
  std::int64_t labels = 0;
  bool logits_bias = true;  ///< final_logits_bias, a buffer
  bool dropout = true;
};

/// `tokens` is the length of the source, and of the target too. Whisper's source has
/// `encoder.positions` frames.
Model build_model(const std::string& name, const BartShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
