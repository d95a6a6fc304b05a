#include "ddpsim/reports/sweep_report.hpp"
#include "described_documents.hpp"

namespace ddpsim {

CsvTable sweep_table(const std::vector<std::string>& grid) {
  std::vector<CsvColumn> columns;
  for (const MemberType& member : sweep_point_document().members) {
    if (member.key == "grid")
      for (const std::string& option : grid) columns.emplace_back("--" + option, "grid/" + option);
    else if (member.key != "warnings")  // whole sentences
      columns.emplace_back(member.key.c_str());
  }
  return {sweep_point_document(), columns};
}

}  // namespace ddpsim
