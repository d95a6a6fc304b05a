// The layer table: a CSV file with the header `layer,parameters,forward_us,backward_us`, in forward
// order.
//
// `parameters` is the number of elements that a layer owns (0 for a ReLU). Each layer with
// parameters becomes one fp32 parameter of that shape. Backward runs the layers in reverse order,
// and a gradient is ready when its layer's backward ends.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/traces/import.hpp"

namespace ddpsim {

Imported parse_layer_table(std::string_view text, const std::string& file);

}  // namespace ddpsim
