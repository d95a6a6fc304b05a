// Paths of modules and parameters, as PyTorch names them: "model.layers.7.mlp.weight".
#pragma once

#include <string_view>
#include <vector>

namespace ddpsim {

/// Of a module and of all around it, outermost first, the root's left out.
std::vector<std::string_view> modules_around(std::string_view module);

/// A star stands for anything within one name: "model.layers.*".
bool matches_path(std::string_view path, std::string_view pattern);

}  // namespace ddpsim
