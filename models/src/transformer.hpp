// The translation Transformer as fairseq builds it for WMT English-German: six encoder and six
// decoder layers, a LayerNorm after each sum, sinusoidal positions (no parameters).
//
// Source of the structure: Vaswani et al., "Attention Is All You Need" (2017), table 3, base and
// big. The parameter list is that of fairseq's transformer_wmt_en_de and
// transformer_vaswani_wmt_en_de_big with --share-all-embeddings. One joined dictionary of 32768
// entries is used by encoder, decoder and output layer. Query, key and value are separate Linears,
// defined as k, v, q.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

inline constexpr std::int64_t kTransformerPositions = 1024;  ///< fairseq's default limit

struct TransformerShape {
  std::int64_t features = 0;
  std::int64_t feed_forward = 0;
  std::int64_t heads = 0;
};

/// `tokens` is the length of the source sentence, and of the target too.
Model build_model(const std::string& name, const TransformerShape& shape, std::int64_t tokens);

}  // namespace ddpsim
