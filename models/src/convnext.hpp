// ConvNeXt as transformers builds it: 7x7 depthwise convolutions, a LayerNorm over channels and two
// products per pixel. The second version normalizes responses instead of scaling each layer.
//
// Source of the structure: Liu et al., "A ConvNet for the 2020s" (2022); Woo et al., "ConvNeXt V2"
// (2023).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct ConvNextShape {
  std::string base = "convnext.";
  std::int64_t patch = 4;
  std::int64_t channels = 3;
  std::vector<std::int64_t> features;
  std::vector<std::int64_t> depths;
  bool scales = true;
  bool normalizes_responses = false;
  std::int64_t labels = 0;  ///< 0: without a head
};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const ConvNextShape& shape, std::int64_t size,
                  AttentionKernel attention);

}  // namespace ddpsim
