// The only way of text to standard output and standard error. Both functions pass everything through the filter of quote.hpp,
// so that nothing from a file can command a terminal.
#pragma once

#include <string_view>

namespace ddpsim {

/// Whether standard output is a terminal whose user did not set NO_COLOR.
bool output_takes_styles();

/// To standard output, newlines included. Keeps our own styles where they are wanted. Throws std::runtime_error when it cannot
/// be written.
void print(std::string_view text);

/// To standard error, as one line.
void print_error(std::string_view text);

}  // namespace ddpsim
