// Costs of DDP that somebody measured, as files hold them: an object with a number for each.
#pragma once

#include <span>
#include <string_view>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/sim/values/ddp_costs.hpp"

namespace ddpsim {

/// Some of these fields.
StatedCosts read_costs(const Cursor& cursor, std::span<const CostField> fields);
void write_costs(JsonWriter& json, std::string_view key, const StatedCosts& costs);

}  // namespace ddpsim
