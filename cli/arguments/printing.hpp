// All text to standard output and standard error passes through these functions. They filter it (quote.hpp), so that no text from a
// file can control the terminal.
#pragma once

#include <string_view>

namespace ddpsim {

/// Returns whether standard output is a terminal and NO_COLOR is not set.
bool output_takes_styles();

/// Prints to standard output without adding a newline. Keeps ddpsim's own styles if output_takes_styles(). Throws
/// std::runtime_error if the text cannot be written.
void print(std::string_view text);

/// Prints one line to standard error.
void print_error(std::string_view text);

}  // namespace ddpsim
