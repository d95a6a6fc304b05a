// BERT, uncased, as Hugging Face's BertModel builds it: three embeddings, encoder layers with the
// LayerNorm after each sum, and the pooler.
//
// Source of the structure: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers"
// (2019). The position embedding is defined second but looked up last. Buffers: the two
// of BertEmbeddings in transformers 4.12 to 5.23.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

inline constexpr std::int64_t kBertPositions = 512;

struct BertShape {
  int layers = 0;
  std::int64_t hidden = 0;  ///< the feed-forward layer is four times as wide
};

/// `tokens`: tokens of a sequence.
Model build_model(const std::string& name, const BertShape& shape, std::int64_t tokens);

}  // namespace ddpsim
