// --data-loader KEY=VALUE,…: how batches are loaded.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/sim/values/data_loader.hpp"

namespace CLI {
class App;
}

namespace ddpsim {

void add_data_loader_option(CLI::App& command, std::optional<std::string>& data_loader);

/// Throws UsageError for an unknown key, a wrong value or keys that exclude each other.
DataLoader parse_data_loader(const std::string& text);

}  // namespace ddpsim
