// Every document that is described, for those who list them.
#pragma once

#include "ddpsim/formats/described.hpp"

namespace ddpsim {

const ObjectType& result_document();

}  // namespace ddpsim
