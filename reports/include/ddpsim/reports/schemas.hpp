// Documents that are described: those of reports, and what a document holds, in words.
#pragma once

#include <string>
#include <vector>

#include "ddpsim/formats/json_schema.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// By name.
std::vector<DocumentType> described_documents();

/// What json_schema() says, for people: a paragraph for each object, a line for each member.
std::string schema_text(const DocumentType& document, const TerminalStyle& style);

}  // namespace ddpsim
