// Reads tables that people write: one row per line, commas between cells, quotes around a cell with
// a comma. Also writes tables, with the quoting of RFC 4180.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// Removes blanks and carriage returns at both ends, and the byte order mark that spreadsheets
/// write first.
std::string_view trimmed(std::string_view text);

/// Most cells of one line, because each takes 16 bytes. The last cell then holds the rest of the
/// line.
inline constexpr std::size_t kMostCells = 100'000;

/// The cells of one line, trimmed and without their quotes. An empty line has one empty cell.
std::vector<std::string_view> cells_of(std::string_view line, char separator = ',');

/// Removes the first line from `text` and returns it without its newline.
std::string_view take_line(std::string_view& text);

/// The first line that is neither empty nor a comment ("# …"), trimmed; empty if there is none.
std::string_view first_line(std::string_view text);

/// A row to write, with a newline at its end. Fields are quoted if they need it. A spreadsheet
/// treats a cell as a formula if it begins with "=", "+", "-", "@", a tab or a line break. Such a
/// field gets a leading apostrophe, unless it is a number or the name of an option (a column of a
/// sweep).
std::string csv_row(std::span<const std::string> fields);

}  // namespace ddpsim
