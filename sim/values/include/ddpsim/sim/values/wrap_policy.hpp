// Which modules of a sharded model become FSDP units.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// Which modules become FSDP units. The parameters of a unit are gathered and reduced together.
/// Parameters outside any unit belong to the root.
struct WrapPolicy {
  enum class By {
    /// The elements of the outermost numbered containers that contain modules: "model.layers.7".
    blocks,
    none,    ///< only the root
    leaves,  ///< every module with parameters of its own
    size,    ///< size_based_auto_wrap_policy
    /// The modules whose path matches, including the layers of a table.
    modules,
  };
  By by = By::blocks;
  /// Only for By::size: least number of parameters, without those of inner units.
  std::int64_t min_num_params = 100'000'000;
  /// Only for By::modules: paths in which '*' stands for any text within one name.
  std::vector<std::string> modules;
  bool operator==(const WrapPolicy&) const = default;
};

std::string text_of(const WrapPolicy& wrap);  ///< "blocks", "layers.*+head"
/// The options "wrap" and "min_num_params".
std::vector<SchemeOption> wrap_options(WrapPolicy& wrap);

}  // namespace ddpsim
