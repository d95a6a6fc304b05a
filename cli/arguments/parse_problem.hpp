// What was wrong with options that CLI11 could not take, in words that help.
#pragma once

#include <span>
#include <string>

#include "ddpsim/formats/input_error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace ddpsim {

/// `words`: those after the name of the program or the command, `called` so for the user.
Diagnostic parse_problem(const CLI::ParseError& error, const CLI::App& command,
                         std::span<char* const> words, const std::string& called);

}  // namespace ddpsim
