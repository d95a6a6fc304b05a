// ConvNeXt as torchvision builds it. Its parameters differ from those of transformers' ConvNeXt,
// which convnext.hpp describes.
//
// Source of the structure: Liu et al., "A ConvNet for the 2020s" (2022).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct TorchvisionConvNextShape {
  /// Channels of the first stage. Each next stage has twice as many.
  std::int64_t features = 0;
  std::array<std::int64_t, 4> depths = {};
};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const TorchvisionConvNextShape& shape,
                  std::int64_t size);

}  // namespace ddpsim
