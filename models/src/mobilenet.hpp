// MobileNet V2 and V3 as torchvision builds them.
//
// Source of the structure: Sandler et al., "MobileNetV2" (2018); Howard et al., "Searching for
// MobileNetV3" (2019), tables 1 and 2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct MobileNetV2Shape {};

struct MobileNetV3Block {
  std::int64_t kernel = 3;
  std::int64_t expanded = 0;
  std::int64_t out = 0;
  bool weighs = false;  ///< squeeze and excitation
  bool swish = false;
  std::int64_t stride = 1;
};

struct MobileNetV3Shape {
  std::vector<MobileNetV3Block> blocks;
  std::int64_t last = 0;
};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const MobileNetV2Shape& shape, std::int64_t size);
Model build_model(const std::string& name, const MobileNetV3Shape& shape, std::int64_t size);

}  // namespace ddpsim
