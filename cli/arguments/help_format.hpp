// How `--help` is laid out: on 80 columns, the option left, what it is right of it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace ddpsim {

/// Commands added to `app` afterwards are laid out so, too.
void set_help_format(CLI::App& app);

/// A line one may type as it stands, below the options.
void add_example(CLI::App& command, const std::string& line);

}  // namespace ddpsim
