// The bandwidths NCCL 2.21 to 2.30 believes in and the speeds its search tries, GB/s per direction
// (NVIDIA/nccl src/graph/topo.h and src/graph/search.cc; of AMD's links ROCm/rccl src/graph/topo.h).
#pragma once

#include <span>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

struct NvlinkRate {
  double nccl;     ///< what NCCL counts on per link
  double nominal;  ///< what the vendor states
};

NvlinkRate nvlink_rate(const GpuModel& gpu);

/// Links behind each that RCCL counts: two MI300A are joined by two (128 GB/s), which it counts as one.
int links_per_counted(const GpuModel& gpu);

/// NCCL's figure for a PCIe slot of this nominal bandwidth.
double pcie_rate(double nominal);

/// NCCL's figure for the slot of a GPU of this generation: what a NIC can reach it with.
double pcie_rate_of_generation(int compute_capability);

/// Per-channel speeds, from high to low.
std::span<const double> speeds_inside_node(int compute_capability);
std::span<const double> speeds_between_nodes(int compute_capability);

}  // namespace ddpsim
