// --scheme NAME[:KEY=VALUE,…]: the parallelism scheme of the job; DDP by default.
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
/// Adds --scheme as a repeatable option. Each value is a candidate.
void add_schemes_option(CLI::App& command, std::vector<std::string>& schemes);

/// Throws UsageError for an unknown name or key, a wrong value, or a key given twice.
Scheme parse_scheme(const std::string& text);

}  // namespace ddpsim
