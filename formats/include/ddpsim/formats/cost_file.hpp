// Costs of DDP that somebody measured, as files hold them: an object with a number for each.
#pragma once

#include <span>
#include <string_view>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/object_type.hpp"
#include "ddpsim/sim/values/ddp_costs.hpp"

namespace ddpsim {

/// A number for each field, which may be absent.
ObjectType costs_type(std::string_view name, std::string_view says,
                      std::span<const CostField> fields);

/// Some of these fields.
StatedCosts read_costs(const Cursor& cursor, std::span<const CostField> fields);

}  // namespace ddpsim
