// The order in which autograd finishes a model's gradients, by its layers.
#pragma once

#include <cstddef>
#include <vector>

#include "ddpsim/models/catalogue.hpp"

namespace ddpsim {

/// Backward runs the layers from the last to the first. A parameter that several layers read is ready at its first use,
/// which backward reaches last.
std::vector<std::size_t> order_of_gradients(const Model& model);

}  // namespace ddpsim
