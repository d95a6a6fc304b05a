// DenseNet as torchvision builds it: stem, four dense blocks with a transition between them, a last
// BatchNorm and one Linear.
//
// Source of the structure: Huang et al., "Densely Connected Convolutional Networks" (2017). This is
// the BC variant: each layer has a bottleneck of four growth rates, and transitions halve the
// channels.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct DenseNetShape {
  std::int64_t growth = 0;  ///< channels each layer adds
  std::array<int, 4> layers_per_block = {};
};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const DenseNetShape& shape, std::int64_t size);

}  // namespace ddpsim
