// JSON Schemas (draft 2020-12) of documents, from what describes them.
#pragma once

#include <string>

#include "ddpsim/formats/described.hpp"

namespace ddpsim {

/// A document that is described.
struct DocumentType {
  std::string name;  ///< "ddpsim.result/1"
  const ObjectType* type;
};
/// A document that says its name: its first member is the constant "schema".
DocumentType document_type(const ObjectType& type);

/// Closed: an object has no members but those described.
std::string json_schema(const DocumentType& document);

}  // namespace ddpsim
