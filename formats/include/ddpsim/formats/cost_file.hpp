// Costs of DDP that somebody measured, as files hold them: an object with a number for each.
#pragma once

#include <span>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/sim/values/ddp_costs.hpp"

namespace ddpsim {

/// Some of these fields.
StatedCosts read_costs(const Cursor& cursor, std::span<const CostField> fields);

}  // namespace ddpsim
