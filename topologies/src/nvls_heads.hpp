// What NCCL's search finds for NVLS: one channel per GPU of a node, and how fast.
#pragma once

#include "ddpsim/sim/cluster.hpp"

namespace ddpsim {

/// Fills Cluster::nvls and Cluster::nvls_channels from what else is sealed; leaves both at 0 where
/// the GPUs, or what joins them, cannot reduce in the switch.
void derive_nvls(Cluster& cluster);

}  // namespace ddpsim
