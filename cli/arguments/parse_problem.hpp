// Explains why CLI11 could not parse a command line.
#pragma once

#include <span>
#include <string>

#include "ddpsim/formats/input_error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace ddpsim {

/// Returns what is wrong. `words` follow the name of the program or command, which `called` shows to the user.
Diagnostic parse_problem(const CLI::ParseError& error, const CLI::App& command,
                         std::span<char* const> words, const std::string& called);

}  // namespace ddpsim
