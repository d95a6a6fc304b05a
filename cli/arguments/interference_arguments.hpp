// --interference: how much compute and NCCL slow each other.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/values/simulation_options.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

void add_interference_option(CLI::App& command, std::optional<std::string>& text);

/// Throws UsageError.
Interference read_interference(const std::string& text);

}  // namespace ddpsim
