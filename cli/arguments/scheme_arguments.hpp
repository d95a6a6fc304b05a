// --scheme NAME[:KEY=VALUE,…]: how the step is trained data-parallel, DistributedDataParallel where nobody says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/scheme.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

void add_scheme_option(CLI::App& command, std::optional<std::string>& scheme);
/// Repeatable: one candidate each.
void add_schemes_option(CLI::App& command, std::vector<std::string>& schemes);

/// Throws UsageError: a name, a key or a value that there is not, or one given twice.
Scheme parse_scheme(const std::string& text);

}  // namespace ddpsim
