// EfficientNet as torchvision builds it. B1 to B7 are B0 made wider and deeper; the second version
// begins with fused blocks.
//
// Source of the structure: Tan and Le, "EfficientNet" (2019) and "EfficientNetV2" (2021).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct EfficientNetStage {
  std::int64_t expansion = 1;  ///< wide channels over those of the input
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t out = 0;
  std::int64_t blocks = 0;
  bool fused = false;  ///< also without weights for channels
};

struct EfficientNetShape {
  std::int64_t stem = 32;
  std::vector<EfficientNetStage> stages;
  std::int64_t last = 0;
};

/// B0 with `width` times the channels and `depth` times the blocks.
EfficientNetShape efficientnet(double width, double depth);

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const EfficientNetShape& shape, std::int64_t size);

}  // namespace ddpsim
