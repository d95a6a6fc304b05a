// Limits for the dimensions of a model. They are far above any trained model and far below an
// overflow.
#pragma once

#include <cstdint>

namespace ddpsim {

inline constexpr std::int64_t kMostLayers = 1'000;
inline constexpr std::int64_t kMostFeatures = 1'048'576;  ///< per token, over all heads
inline constexpr std::int64_t kMostFeedForward = 4'194'304;
/// Rows of a table: words, positions or distances.
inline constexpr std::int64_t kMostEmbeddings = 16'777'216;
inline constexpr std::int64_t kMostHeads = 65'536;

/// Llama's default: two thirds of four times the width, rounded up to a multiple of 256
/// (facebookresearch/llama, model.py).
constexpr std::int64_t llama_feed_forward(std::int64_t hidden) {
  constexpr std::int64_t kMultiple = 256;
  const std::int64_t least = 2 * 4 * hidden / 3;
  return (least + kMultiple - 1) / kMultiple * kMultiple;
}

}  // namespace ddpsim
