#include "ddpsim/reports/schemas.hpp"

#include <algorithm>

#include "ddpsim/formats/json_schema.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "described_documents.hpp"

namespace ddpsim {
namespace {

std::vector<const ObjectType*> described_documents() {
  return {&advice_document(),      &allreduce_document(), &buckets_document(),
          &calibration_document(), &compare_document(),   &difference_document(),
          &error_document(),       &result_document(),    &timeline_document(),
          &topo_document(),        &tune_document(),      &validation_document()};
}

/// Of its constant "schema".
const std::string& name_of(const ObjectType& document) {
  return document.members.front().type.words.front();
}

const ObjectType& document_of(const std::string& name) {
  const auto documents = described_documents();
  const auto found = std::ranges::find_if(
      documents, [&](const ObjectType* document) { return name_of(*document) == name; });
  DDPSIM_ASSERT(found != documents.end(), "no document is described under this name");
  return **found;
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const ObjectType* document : described_documents()) names.push_back(name_of(*document));
  return names;
}

std::string schema_summary(const std::string& name) {
  return document_of(name).says;
}

std::string schema_of(const std::string& name) {
  return json_schema(document_of(name));
}

}  // namespace ddpsim
