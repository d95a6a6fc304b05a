// All documents that the program prints or reads, with their JSON Schemas.
#pragma once

#include <vector>

#include "ddpsim/formats/json_schema.hpp"

namespace ddpsim {

const ObjectType& list_document();
const ObjectType& commands_document();

/// Returns all documents, sorted by name.
std::vector<DocumentType> all_documents();

}  // namespace ddpsim
