// Measured costs of DDP in files: an object with one number for each cost.
#pragma once

#include <span>
#include <string_view>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/sim/values/ddp_costs.hpp"

namespace ddpsim {

/// Type of an object with an optional number for each field.
ObjectType costs_type(std::string_view name, std::string_view says,
                      std::span<const CostField> fields);

/// Reads the fields that are present.
StatedCosts read_costs(const Cursor& cursor, std::span<const CostField> fields);

}  // namespace ddpsim
