// Documents of reports that are described, of which JSON Schemas are made.
#pragma once

#include <vector>

#include "ddpsim/formats/json_schema.hpp"

namespace ddpsim {

/// By name.
std::vector<DocumentType> described_documents();

}  // namespace ddpsim
