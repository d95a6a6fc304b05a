// The commands and options of the program, as `list --commands` shows them. They come from the declared options, and completions, manual
// and Python package are generated from them.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace ddpsim {

/// Returns a line for each command and option of `program`.
std::string commands_text(const CLI::App& program);

/// Returns the same as ddpsim.commands/1.
std::string commands_json(const CLI::App& program);

}  // namespace ddpsim
