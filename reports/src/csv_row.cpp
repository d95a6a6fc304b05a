#include "csv_row.hpp"

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {

std::string csv_field(std::string_view field) {
  const std::string shown = printable(field);
  if (shown.find_first_of(",\"") == std::string::npos) return shown;
  std::string text = "\"";
  for (const char c : shown) {
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
