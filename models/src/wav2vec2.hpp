// wav2vec 2.0 and HuBERT as transformers builds them. Convolutions turn sound into frames of 20 ms,
// a weight-normalized convolution over the frames gives their positions, then the blocks of an
// encoder run.
//
// Source of the structure: Baevski et al., "wav2vec 2.0" (2020); Hsu et al., "HuBERT" (2021).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

enum class SpeechHead {
  none,         ///< Model
  letters,      ///< ForCTC
  sequence,     ///< ForSequenceClassification
  pretraining,  ///< Wav2Vec2ForPreTraining: a quantizer
};

struct SpeechShape {
  std::string base = "wav2vec2.";
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::vector<std::int64_t> features;  ///< features of each convolution
  std::vector<std::int64_t> kernels;
  std::vector<std::int64_t> strides;
  bool convolution_bias = false;
  bool norm_every_convolution = false;  ///< otherwise only the first
  bool projection_norm = true;
  std::int64_t position_kernel = 128;
  std::int64_t position_groups = 16;
  bool norm_first = false;  ///< do_stable_layer_norm
  bool masks = true;        ///< masked_spec_embed
  SpeechHead head = SpeechHead::none;
  std::int64_t vocabulary = 0;
  std::int64_t labels = 0;
  std::int64_t classifier_features = 0;
  std::int64_t code_groups = 2;  ///< groups of the quantizer
  std::int64_t codes = 320;      ///< codes of a group
  std::int64_t code_features = 256;
  std::int64_t projected_codes = 256;
  bool dropout = true;
};

/// `frames` is the number of frames that the convolutions produce per sample.
Model build_model(const std::string& name, const SpeechShape& shape, std::int64_t frames,
                  AttentionKernel attention);

}  // namespace ddpsim
