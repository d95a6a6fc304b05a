// Swin as torchvision builds it: one product for queries, keys and values, and attention written
// out. Its parameters differ from those of transformers' Swin, which swin.hpp describes.
//
// Source of the structure: Liu et al., "Swin Transformer" (2021).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct TorchvisionSwinShape {
  std::int64_t features = 0;  ///< features of the first stage
  std::array<std::int64_t, 4> depths = {};
  std::array<std::int64_t, 4> heads = {};
};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const TorchvisionSwinShape& shape, std::int64_t size);

}  // namespace ddpsim
