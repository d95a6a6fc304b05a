// Short words for what tests of collectives name in every line.
#pragma once

#include "ddpsim/sim/collective.hpp"

namespace ddpsim {

inline constexpr auto kAllReduce = CollectiveKind::all_reduce;
inline constexpr auto kBroadcast = CollectiveKind::broadcast;
inline constexpr auto kRing = Algorithm::ring;
inline constexpr auto kTree = Algorithm::tree;

}  // namespace ddpsim
