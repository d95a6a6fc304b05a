// The plain layer table: CSV with header `layer,parameters,forward_us,backward_us`, in forward
// order.
//
// `parameters` is the number of elements a layer owns (0 for a ReLU). Each layer with parameters
// becomes one fp32 parameter of that shape; its gradient is ready when the layer's backward ends,
// backward running the layers in reverse.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/traces/import.hpp"

namespace ddpsim {

Imported parse_layer_table(std::string_view text, const std::string& file);

}  // namespace ddpsim
