#include "ddpsim/reports/schemas.hpp"

#include "ddpsim/formats/sweep_file.hpp"
#include "described_documents.hpp"

namespace ddpsim {

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

}  // namespace ddpsim
