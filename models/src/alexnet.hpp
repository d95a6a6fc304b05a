// AlexNet as torchvision builds it: five convolutions with bias, three Linears.
//
// Source of the structure: Krizhevsky, "One weird trick for parallelizing convolutional neural
// networks" (2014), the one-tower variant, 1000 classes and a 6x6 pooled map.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct AlexNetShape {};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const AlexNetShape& shape, std::int64_t size);

}  // namespace ddpsim
