// What the program offers, as `list --commands` says it: read from the options as they are declared, so that
// completions, manual and the Python package spell nothing of their own.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace ddpsim {

/// A line for each command, argument and option of `program`.
std::string commands_text(const CLI::App& program);

/// The same as `ddpsim.commands/1`.
std::string commands_json(const CLI::App& program);

}  // namespace ddpsim
