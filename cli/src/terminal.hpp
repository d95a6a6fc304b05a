// How the terminal takes it, and where results go: data on stdout, everything else on stderr.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/reports.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

struct OutputArguments {
  bool json = false;
  std::optional<std::string> csv;
  std::optional<std::string> timeline;
};

void add_output_options(CLI::App& command, OutputArguments& arguments, bool with_timeline);

/// Width and colour of standard output; NO_COLOR and pipes give plain text.
TerminalStyle terminal_style();

void print(const std::string& text);        ///< to stdout; throws when that fails
void print_error(const std::string& text);  ///< to stderr, one line

}  // namespace ddpsim
