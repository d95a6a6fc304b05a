// Layout of `--help`, in 80 columns: options on the left, what they do on the right.
#pragma once

#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ddpsim {

/// Sets this layout for `app` and for every command added to it later, and gives each of these commands `--help-all`.
///
/// `--help` of a command shows all options if everything fits 40 lines. Otherwise it shows only the options marked by
/// `common` (help_group.hpp), and `--help-all` shows all of them by heading.
void set_help_format(CLI::App& app);

/// Sets the example that stands below the options. A test runs it as it stands.
void add_example(CLI::App& command, const std::string& line);

/// Returns whether an option or argument takes several values, in one use or in several.
bool is_repeated(const CLI::Option& option);

/// Returns what kind of value an option takes: INT, UINT, FLOAT, TEXT, FILE or a name such as MIB. CLI11 also appends
/// the limits of numbers, in words that differ from version to version; they are left out.
std::string kind_of_value(const CLI::Option& option);

/// Returns the arguments of a command as its usage shows them: " WORKLOAD [CLUSTER...]".
std::string usage_of_arguments(const CLI::App& command);

}  // namespace ddpsim
