// Reads which switch each node is connected to.
#pragma once

#include <string>
#include <string_view>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

inline constexpr std::int64_t kLargestSwitchList = 16 << 20;

/// Reads one line per node, `HOST SWITCH`, or Slurm's topology.conf: `SwitchName=leaf1
/// Nodes=n[01-16]` and `SwitchName=spine Switches=leaf[1-4]`. '#' begins a comment. Nodes are
/// numbered in the order written. Throws InputError.
SwitchPlan parse_switch_list(std::string_view text, const std::string& file);

}  // namespace ddpsim
