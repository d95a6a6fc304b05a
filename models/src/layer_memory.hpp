// What one layer holds in memory for the whole batch, in the precision of a setting.
#pragma once

#include <cstdint>

#include "ddpsim/models/checkpointing.hpp"
#include "ddpsim/models/layer_cost.hpp"

namespace ddpsim {

/// Bytes of one layer for the whole batch.
struct LayerBytes {
  /// Stored from forward until backward reaches the layer's block, or the layer itself.
  std::int64_t stored = 0;
  std::int64_t output = 0;  ///< part of its output that is kept
  /// Kept in addition: masks, indices, the cast of its weights, scores that no fused kernel drops.
  std::int64_t own = 0;
  std::int64_t given = 0;  ///< gradient of its output
  /// Gradients of its inputs, without those of its parameters.
  std::int64_t gives = 0;
  std::int64_t working = 0;  ///< needed while its backward runs
};

LayerBytes layer_bytes(const Layer& layer, const ComputeSetting& setting,
                       LayerFate fate = LayerFate::kept);

}  // namespace ddpsim
