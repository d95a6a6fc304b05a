// VGG without batch normalization, as torchvision builds it: five stages of 3x3 convolutions with
// bias, a max-pool after each stage, three Linears.
//
// Source of the structure: Simonyan and Zisserman, "Very Deep Convolutional Networks for
// Large-Scale Image Recognition" (2015). These are configurations A (VGG-11), D (16) and E (19),
// with 1000 classes and a 7x7 pooled map.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct VggShape {
  std::array<int, 5> convolutions_per_stage = {};
};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const VggShape& shape, std::int64_t size);

}  // namespace ddpsim
