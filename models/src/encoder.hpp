// An encoder of the kind of BERT: embeddings, blocks, and what the class puts behind them, as a list of steps. Each family
// describes its own (config_encoders.cpp, config_newer_encoders.cpp); BERT of the catalogue is described here.
//
// Source of the structure: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (2019); Liu et al.,
// "RoBERTa" (2019); Sanh et al., "DistilBERT" (2019); Lan et al., "ALBERT" (2020), whose blocks share their parameters;
// Clark et al., "ELECTRA" (2020); He et al., "DeBERTa" (2021); Warner et al., "ModernBERT" (2024). Buffers: those of
// transformers 4.12 to 5.24.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"
#include "transformer_block.hpp"

namespace ddpsim {

inline constexpr std::int64_t kBertPositions = 512;

/// What a head does, one step behind the other.
struct HeadStep {
  enum class Kind {
    first_token,  ///< go on with the first token of the sequence
    all_tokens,   ///< go on with what the blocks gave
    linear,
    norm,
    activation,
    dropout,
    words,  ///< a product with the words' embedding; `name` is its bias
    loss,
  };
  Kind kind = Kind::linear;
  std::string name;
  std::int64_t out = 0;
  bool bias = true;
  ActivationFunction activation = ActivationFunction::gelu;
};

struct TokenTable {
  std::string name;
  std::int64_t rows = 0;
};

struct EncoderShape {
  std::int64_t hidden = 0;
  std::int64_t embedded = 0;   ///< features of an embedded token; 0: `hidden`
  std::string base = "bert.";  ///< of all but the head
  std::string embeddings = "embeddings.";
  std::vector<TokenTable> tables;  ///< in the order in which they are looked up, words first
  NormModule embeddings_norm = {.name = "LayerNorm", .bias = true};
  std::string embeddings_defined;  ///< the order of definition
  LinearModule projection;         ///< from `embedded` to `hidden`, below `base`
  std::string blocks_module = "encoder.layer";
  std::vector<BlockModules> kinds;
  std::vector<std::size_t> layers;  ///< of each layer its kind
  std::int64_t groups =
      0;  ///< ALBERT: so many groups of blocks, of `kinds` each; layers share a group's parameters
  std::int64_t distances = 0;  ///< DeBERTa: rows of encoder.rel_embeddings
  bool distance_norm = false;
  std::int64_t convolution = 0;  ///< DeBERTa: width of the convolution behind the first block
  NormModule last_norm;
  std::vector<HeadStep> head;
  std::string words_name;               ///< of the words' embedding, where it goes by another
  std::string defined;                  ///< of the whole model, where that is not as it runs
  std::vector<std::int64_t> positions;  ///< elements of buffers of places
  std::vector<std::int64_t> frequencies;
  bool dropout = true;
};

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

/// BERT without a head; RoBERTa and ELECTRA differ from it.
EncoderShape bert_encoder(const BertShape& shape, const std::string& base);
/// Pooler and heads of BERT.
std::vector<HeadStep> pooled(const std::string& module, std::int64_t hidden);
std::vector<HeadStep> bert_words(const std::string& module, std::int64_t hidden);

/// `tokens`: tokens of a sequence.
Model build_model(const std::string& name, const EncoderShape& shape, std::int64_t tokens,
                  AttentionKernel attention);
Model build_model(const std::string& name, const BertShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
