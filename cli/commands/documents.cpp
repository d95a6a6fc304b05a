#include "documents.hpp"

#include <algorithm>

#include "ddpsim/reports/schemas.hpp"
#include "ddpsim/traces/workload_file.hpp"

namespace ddpsim {

std::vector<DocumentType> all_documents() {
  std::vector<DocumentType> all = described_documents();
  all.push_back(document_type(list_document()));
  all.push_back(document_type(commands_document()));
  all.push_back(document_type(workload_document()));
  std::ranges::sort(all, {}, &DocumentType::name);
  return all;
}

}  // namespace ddpsim
