// An encoder like BERT: embeddings, blocks, and the head of its class as a list of steps. Each
// family describes its own encoder (config_encoders.cpp, config_newer_encoders.cpp). The
// catalogue's BERT is described here.
//
// Sources of the structure: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers"
// (2019). Liu et al., "RoBERTa" (2019). Sanh et al., "DistilBERT" (2019). Lan et al., "ALBERT"
// (2020), whose blocks share their parameters. Clark et al., "ELECTRA" (2020). He et al., "DeBERTa"
// (2021). Warner et al., "ModernBERT" (2024). Buffers: those of transformers 4.12 to 5.24.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"
#include "transformer_block.hpp"

namespace ddpsim {

inline constexpr std::int64_t kBertPositions = 512;

/// One step of a head. Steps run one after the other.
struct HeadStep {
  enum class Kind {
    first_token,  ///< continues with the first token
    all_tokens,   ///< continues with the output of the blocks
    linear,
    norm,
    activation,
    dropout,
    /// A product with the word embedding; `name` is its bias.
    words,
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
  std::string base = "bert.";  ///< prefix of all modules except the head
  std::string embeddings = "embeddings.";
  /// In the order in which they are looked up, words first.
  std::vector<TokenTable> tables;
  NormModule embeddings_norm = {.name = "LayerNorm", .bias = true};
  std::string embeddings_defined;  ///< the order of definition
  LinearModule projection;         ///< from `embedded` to `hidden`, below `base`
  std::string blocks_module = "encoder.layer";
  std::vector<BlockModules> kinds;
  std::vector<std::size_t> layers;  ///< kind of each layer
  /// ALBERT: number of groups of blocks, with `kinds` in each. Layers share the parameters of a
  /// group.
  std::int64_t groups = 0;
  std::int64_t distances = 0;  ///< DeBERTa: rows of encoder.rel_embeddings
  bool distance_norm = false;
  /// DeBERTa: width of the convolution after the first block.
  std::int64_t convolution = 0;
  NormModule last_norm;
  std::vector<HeadStep> head;
  /// Name of the word embedding, if it is not the usual one.
  std::string words_name;
  /// Definition order of the whole model, if it differs from the run order.
  std::string defined;
  std::vector<std::int64_t> positions;  ///< elements of the position buffers
  std::vector<std::int64_t> frequencies;
  bool dropout = true;
};

enum class BertHead {
  pooler,        ///< BertModel
  masked_words,  ///< BertForMaskedLM
  /// BertForPreTraining: predicts masked words, and whether the second sentence follows.
  pretraining
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

/// BERT without a head. RoBERTa and ELECTRA are variations of it.
EncoderShape bert_encoder(const BertShape& shape, const std::string& base);
/// Pooler and heads of BERT.
std::vector<HeadStep> pooled(const std::string& module, std::int64_t hidden);
std::vector<HeadStep> bert_words(const std::string& module, std::int64_t hidden);

/// `tokens` is the length of a sequence.
Model build_model(const std::string& name, const EncoderShape& shape, std::int64_t tokens,
                  AttentionKernel attention);
Model build_model(const std::string& name, const BertShape& shape, std::int64_t tokens,
                  AttentionKernel attention);

}  // namespace ddpsim
