#include "csv_row.hpp"

namespace ddpsim {

std::string csv_field(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

std::string csv_row(std::span<const std::string> fields) {
  std::string row;
  const char* separator = "";
  for (const std::string& field : fields) {
    row += separator;
    row += csv_field(field);
    separator = ",";
  }
  return row + '\n';
}

}  // namespace ddpsim
