// --data-loader KEY=VALUE,…: how the batches of a step are loaded.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/values/data_loader.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

void add_data_loader_option(CLI::App& command, std::optional<std::string>& data_loader);

/// Throws UsageError: a key or a value that there is not, or parts that do not go together.
DataLoader parse_data_loader(const std::string& text);

}  // namespace ddpsim
