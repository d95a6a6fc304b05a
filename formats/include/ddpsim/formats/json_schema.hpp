// JSON Schemas (draft 2020-12) of documents, from what describes them.
#pragma once

#include <string>

#include "ddpsim/formats/described.hpp"

namespace ddpsim {

/// Of a document whose first member is the constant "schema". Closed: an object has no members but those described.
std::string json_schema(const ObjectType& document);

}  // namespace ddpsim
