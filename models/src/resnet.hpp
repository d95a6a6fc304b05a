// ResNet as torchvision builds it: stem, four stages of residual blocks, one Linear.
//
// Source of the structure: He et al., "Deep Residual Learning for Image Recognition" (2015), with
// the stride on the 3x3 convolution (which changes no shape) and 1000 classes. A block's downsample
// branch is defined last and runs last, after the main branch, so its gradients are ready first.
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
};

Model resnet(const std::string& name, const ResNetShape& shape);

}  // namespace ddpsim
