// Swin as transformers builds it: attention within windows that shift from block to block, and
// stages that merge four patches into one with twice as many features.
//
// Source of the structure: Liu et al., "Swin Transformer" (2021).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct SwinShape {
  std::int64_t image = 0;
  std::int64_t patch = 4;
  std::int64_t channels = 3;
  std::int64_t features = 96;  ///< features of the first stage
  std::vector<std::int64_t> depths;
  std::vector<std::int64_t> heads;
  std::int64_t window = 7;
  double ratio = 4;  ///< width of the feed-forward over `features`
  bool bias = true;  ///< bias of queries, keys and values
  bool positions = false;
  std::int64_t labels = 0;  ///< 0: SwinModel
};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const SwinShape& shape, std::int64_t size,
                  AttentionKernel attention);

}  // namespace ddpsim
