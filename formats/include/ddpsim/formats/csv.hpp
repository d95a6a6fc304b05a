// Tables people write: one row a line, cells between commas, a cell with a comma in quotes. Tables the program writes: quoted as
// RFC 4180 says.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

/// Without blanks and carriage returns at either end, and without the byte order mark that
/// spreadsheets write in front.
std::string_view trimmed(std::string_view text);

/// Cells of one line at most, since each takes 16 bytes: the last one is then the rest of the line.
inline constexpr std::size_t kMostCells = 100'000;

/// The cells of one line, trimmed, without the quotes around them; an empty line has one empty cell.
std::vector<std::string_view> cells_of(std::string_view line, char separator = ',');

/// Takes the next line, without its newline, from the front of `text`.
std::string_view take_line(std::string_view& text);

/// The first line that is neither empty nor a comment ("# …"), trimmed; empty where there is none.
std::string_view first_line(std::string_view text);

/// A row to write, ended by a newline; fields are quoted where they need it. A spreadsheet takes a cell that begins with
/// "=", "+", "-", "@", a tab or a line break for a formula. Such a field gets an apostrophe in front, so that it stays text, unless
/// it is a number or the name of an option (a column of a sweep).
std::string csv_row(std::span<const std::string> fields);

}  // namespace ddpsim
