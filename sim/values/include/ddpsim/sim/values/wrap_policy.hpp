// Which modules of a sharded model become units.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// Which modules become units, whose parameters travel together. What no unit holds is the root's.
struct WrapPolicy {
  enum class By {
    blocks,  ///< the elements of the outermost numbered containers that have modules of their own: "model.layers.7"
    none,    ///< the root alone
    leaves,  ///< every module that owns parameters itself
    size,    ///< size_based_auto_wrap_policy
    modules,  ///< those whose path matches, a table's layers among them
  };
  By by = By::blocks;
  std::int64_t min_num_params = 100'000'000;  ///< By::size: parameters that no inner unit holds
  std::vector<std::string>
      modules;  ///< By::modules: paths; '*' stands for anything within one name
  bool operator==(const WrapPolicy&) const = default;
};

std::string text_of(const WrapPolicy& wrap);  ///< "blocks", "layers.*+head"
/// "wrap" and "min_num_params".
std::vector<SchemeOption> wrap_options(WrapPolicy& wrap);

}  // namespace ddpsim
