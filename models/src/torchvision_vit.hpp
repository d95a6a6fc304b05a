// ViT as torchvision builds it: one product for queries, keys and values, by nn.MultiheadAttention.
// Its parameters differ from those of transformers' ViT, which config_vision.cpp describes.
//
// Source of the structure: Dosovitskiy et al., "An Image is Worth 16x16 Words" (2020).
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct TorchvisionVitShape {
  std::int64_t patch = 0;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t feed_forward = 0;
  /// Pixels per side that the learned positions are for.
  std::int64_t image = 224;
};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const TorchvisionVitShape& shape, std::int64_t size,
                  AttentionKernel attention);

}  // namespace ddpsim
