// Tables people write: one row a line, cells between commas, no quoting.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace ddpsim {

/// Without blanks and carriage returns at either end, and without the byte order mark that
/// spreadsheets write in front.
std::string_view trimmed(std::string_view text);

/// Cells of one line at most, since each takes 16 bytes: the last one is then the rest of the line.
inline constexpr std::size_t kMostCells = 100'000;

/// The cells of one line, trimmed; an empty line has one empty cell.
std::vector<std::string_view> cells_of(std::string_view line);

/// Takes the next line, without its newline, from the front of `text`.
std::string_view take_line(std::string_view& text);

/// The first line that is neither empty nor a comment ("# …"), trimmed; empty where there is none.
std::string_view first_line(std::string_view text);

}  // namespace ddpsim
