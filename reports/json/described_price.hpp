// A price that somebody quoted, as a part of documents.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/values/price.hpp"

namespace ddpsim {

const Described<Price>& described_price(JsonWriter::Layout layout);

}  // namespace ddpsim
