// The layers of ddpsim.model/1.
#pragma once

#include <span>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/models/layer.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

struct ObjectType;

const ObjectType& layer_type();

/// Elements of all layers so far. Their sums, times a batch and the bytes of an element, stay inside 63 bits.
struct TracedSizes {
  std::int64_t kept = 0;
  std::int64_t operands = 0;  ///< of products
};

/// Throws InputError. Adds the layer to `sizes`.
Layer read_layer(const Cursor& entry, std::span<const Parameter> parameters, TracedSizes& sizes);

}  // namespace ddpsim
