// All documents that the program prints or reads and that are described, each with its JSON Schema.
#pragma once

#include <vector>

#include "ddpsim/formats/json_schema.hpp"

namespace ddpsim {

const ObjectType& list_document();
const ObjectType& commands_document();

/// By name.
std::vector<DocumentType> all_documents();

}  // namespace ddpsim
