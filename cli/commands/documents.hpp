// Documents that the program prints and that are described, each with its JSON Schema.
#pragma once

#include <vector>

#include "ddpsim/formats/json_schema.hpp"

namespace ddpsim {

const ObjectType& list_document();
const ObjectType& commands_document();

/// These and those of reports, by name.
std::vector<DocumentType> all_documents();

}  // namespace ddpsim
