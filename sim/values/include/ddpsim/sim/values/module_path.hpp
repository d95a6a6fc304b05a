// Paths of modules and parameters, as PyTorch names them: "model.layers.7.mlp.weight".
#pragma once

#include <string_view>
#include <vector>

namespace ddpsim {

/// Paths of the module and of all modules that contain it, outermost first, without the root.
std::vector<std::string_view> modules_around(std::string_view module);

/// Whether `path` matches `pattern`. A star matches any text within one name: "model.layers.*".
bool matches_path(std::string_view path, std::string_view pattern);

}  // namespace ddpsim
