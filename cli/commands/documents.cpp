#include "documents.hpp"

#include <algorithm>

#include "ddpsim/formats/archive.hpp"
#include "ddpsim/models/model_file.hpp"
#include "ddpsim/reports/schemas.hpp"
#include "ddpsim/topologies/background_file.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "study.hpp"

namespace ddpsim {

std::vector<DocumentType> all_documents() {
  std::vector<DocumentType> all = described_documents();
  for (const ObjectType* type :
       {&background_document(), &cluster_document(), &collect_document(), &commands_document(),
        &list_document(), &model_document(), &study_document(), &workload_document()})
    all.push_back(document_type(*type));
  std::ranges::sort(all, {}, &DocumentType::name);
  return all;
}

}  // namespace ddpsim
