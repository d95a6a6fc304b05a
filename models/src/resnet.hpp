// ResNet and ResNeXt as torchvision builds them: stem, four stages of residual blocks, one Linear.
//
// Source of the structure: He et al., "Deep Residual Learning for Image Recognition" (2015), with
// the stride on the 3x3 convolution (which changes no shape) and 1000 classes. ResNeXt: Xie et al.,
// "Aggregated Residual Transformations for Deep Neural Networks" (2017), with grouped and wider 3x3
// convolutions. A block's downsample branch is defined last and runs last, after the main branch.
// So its gradients are ready first.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

enum class ResidualBlock { basic, bottleneck };

struct ResNetShape {
  ResidualBlock block = ResidualBlock::basic;
  std::array<int, 4> blocks_per_stage = {};
  std::int64_t groups = 1;            ///< groups of each bottleneck's 3x3 convolution
  std::int64_t width_per_group = 64;  ///< channels per group in the first stage
};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const ResNetShape& shape, std::int64_t size);

}  // namespace ddpsim
