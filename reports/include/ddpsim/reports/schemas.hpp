// The described documents, and their descriptions as text.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/formats/json_schema.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Every described document, sorted by name.
std::vector<DocumentType> described_documents();

/// The content of json_schema() as text: a paragraph for each object, a line for each member.
std::string schema_text(const DocumentType& document, const TerminalStyle& style);

}  // namespace ddpsim
