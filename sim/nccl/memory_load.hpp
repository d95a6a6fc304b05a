// Memory traffic of NCCL's kernels, which compute beside them goes without.
#pragma once

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Share of the GPU's memory bandwidth that a collective takes while it transfers, 0 to 1. For each
/// byte that passes a rank of a ring: it arrives (a write), is read, and is added to what is there
/// (a read) or written on.
double memory_load(CollectiveKind kind, Bytes bytes, Duration transfer, const Cluster& cluster);

}  // namespace ddpsim
