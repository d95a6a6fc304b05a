// JSON Schemas (draft 2020-12) of documents, produced from their descriptions.
#pragma once

#include <string>

#include "ddpsim/formats/described.hpp"

namespace ddpsim {

/// A kind of document, with its name.
struct DocumentType {
  std::string name;  ///< "ddpsim.result/1"
  const ObjectType* type;
};
/// A document that states its own name: its first member is the constant "schema".
DocumentType document_type(const ObjectType& type);

/// The JSON Schema. An object may have only the members that are described.
std::string json_schema(const DocumentType& document);

}  // namespace ddpsim
