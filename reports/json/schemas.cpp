#include "ddpsim/reports/schemas.hpp"

#include <algorithm>

#include "ddpsim/formats/json_schema.hpp"
#include "ddpsim/formats/sweep_file.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "described_documents.hpp"

namespace ddpsim {
namespace {

std::vector<DocumentType> described_documents() {
  return {
      document_type(advice_document()),
      document_type(allreduce_document()),
      document_type(buckets_document()),
      document_type(calibration_document()),
      document_type(compare_document()),
      document_type(difference_document()),
      document_type(error_document()),
      document_type(result_document()),
      {"ddpsim.sweep.point/1", &sweep_point_document()},
      document_type(sweep_document()),
      document_type(timeline_document()),
      document_type(topo_document()),
      document_type(tune_document()),
      document_type(validation_document()),
  };
}

DocumentType document_of(const std::string& name) {
  const auto documents = described_documents();
  const auto found = std::ranges::find(documents, name, &DocumentType::name);
  DDPSIM_ASSERT(found != documents.end(), "no document is described under this name");
  return *found;
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const DocumentType& document : described_documents()) names.push_back(document.name);
  return names;
}

std::string schema_summary(const std::string& name) {
  return document_of(name).type->says;
}

std::string schema_of(const std::string& name) {
  return json_schema(document_of(name));
}

}  // namespace ddpsim
