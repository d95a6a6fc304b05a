#include "ddpsim/formats/csv.hpp"

#include <algorithm>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

/// Whether a text is the name of an option: "--bucket-cap-mb".
bool is_name_of_an_option(std::string_view text) {
  constexpr std::string_view kDashes = "--";
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  if (!text.starts_with(kDashes)) return false;
  text.remove_prefix(kDashes.size());
  return !text.empty() && kLetters.find(text.front()) != kLetters.npos &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == text.npos;
}

bool is_read_as_a_formula(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r\n";
  if (text.empty() || kFormula.find(text.front()) == kFormula.npos) return false;
  return !parse_number<double>(text) && !is_name_of_an_option(text);
}

void add_field(std::string& row, const std::string& field) {
  std::string text = printable(field);
  if (is_read_as_a_formula(field) || is_read_as_a_formula(text)) text.insert(text.begin(), '\'');
  if (text.find_first_of(",\"") == text.npos) {
    row += text;
    return;
  }
  row += '"';
  for (const char c : text) row.append(c == '"' ? 2 : 1, c);
  row += '"';
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (;;) {
    const bool last = cells.size() + 1 == kMostCells;
    std::size_t end = last ? std::string_view::npos : line.find(separator);
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (!last && begin < line.size() && line[begin] == '"') {
      const std::size_t close = line.find('"', begin + 1);
      if (close != std::string_view::npos) end = line.find(separator, close);
    }
    std::string_view cell = trimmed(line.substr(0, end));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
      cell = trimmed(cell.substr(1, cell.size() - 2));
    cells.push_back(cell);
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(end + 1);
  }
}

std::string_view take_line(std::string_view& text) {
  const std::size_t newline = text.find('\n');
  const std::string_view line = text.substr(0, newline);
  text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  return line;
}

std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (!line.empty() && !line.starts_with('#')) return line;
  }
  return {};
}

std::string csv_row(std::span<const std::string> fields) {
  std::string row;
  for (const std::string& field : fields) {
    if (&field != fields.data()) row += ',';
    add_field(row, field);
  }
  return row + '\n';
}

}  // namespace ddpsim
