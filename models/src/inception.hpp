// Inception-v3 as torchvision builds it for training: stem, three kinds of mixed blocks with two
// that shrink the map between them, the auxiliary classifier after Mixed_6e, one Linear.
//
// Source of the structure: Szegedy et al., "Rethinking the Inception Architecture for Computer
// Vision" (2016). Branches run one after the other in the order they are defined. The auxiliary
// loss is part of the training loss, so its gradients come where forward ran it: between Mixed_7a's
// and Mixed_6e's.
#pragma once

#include <cstdint>
#include <string>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

struct InceptionV3Shape {};

/// `size`: pixels a side of an image.
Model build_model(const std::string& name, const InceptionV3Shape& shape, std::int64_t size);

}  // namespace ddpsim
