// BERT as Hugging Face's BertModel builds it: three embeddings, encoder layers with the LayerNorm after each sum, and
// the pooler; BertForMaskedLM has instead of the pooler, and BertForPreTraining beside it, a head whose last product
// is by the words' embedding.
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

enum class BertHead {
  pooler,        ///< BertModel
  masked_words,  ///< BertForMaskedLM
  pretraining    ///< BertForPreTraining: masked words, and whether a sentence follows
};

struct BertShape {
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  std::int64_t vocabulary = 30522;
  std::int64_t positions = kBertPositions;
  std::int64_t segments = 2;
  BertHead head = BertHead::pooler;
  bool dropout = true;
};

/// `tokens`: tokens of a sequence.
Model build_model(const std::string& name, const BertShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
