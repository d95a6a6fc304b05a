// Inception-v3 as torchvision builds it for training: stem, three kinds of mixed blocks with two
// blocks between them that shrink the map, the auxiliary classifier after Mixed_6e, and one Linear.
//
// Source of the structure: Szegedy et al., "Rethinking the Inception Architecture for Computer
// Vision" (2016). Branches run one after the other in definition order. The auxiliary loss is part
// of the training loss. Its gradients come where forward ran it: between those of Mixed_7a and
// Mixed_6e.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct InceptionV3Shape {};

/// `size` is the side of an image in pixels.
Model build_model(const std::string& name, const InceptionV3Shape& shape, std::int64_t size);

}  // namespace ddpsim
