// Describes a quoted price.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/values/price.hpp"

namespace ddpsim {

const Described<Price>& described_price(JsonWriter::Layout layout);

}  // namespace ddpsim
