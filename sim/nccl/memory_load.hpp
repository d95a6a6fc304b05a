// Memory traffic of NCCL's kernels, which is lost to compute that runs at the same time.
#pragma once

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Share of the GPU's memory bandwidth that a collective uses while it transfers, 0 to 1. Each byte
/// that passes a rank of a ring is written on arrival and read. Then it is added to the existing
/// value (a read), or written on.
double memory_load(CollectiveKind kind, Bytes bytes, Duration transfer, const Cluster& cluster);

}  // namespace ddpsim
