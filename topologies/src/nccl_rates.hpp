// Bandwidths that NCCL 2.21 to 2.30 assumes, and the speeds that its search tries, in GB/s per
// direction. Source: NVIDIA/nccl src/graph/topo.h and src/graph/search.cc; for AMD's links
// ROCm/rccl src/graph/topo.h.
#pragma once

#include <span>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {

struct NvlinkRate {
  double nccl;     ///< rate per link in NCCL's model
  double nominal;  ///< rate per link from the vendor
};

NvlinkRate nvlink_rate(const GpuModel& gpu);

/// Physical links for each link that RCCL counts. Two links (128 GB/s) join two MI300A, and RCCL
/// counts them as one.
int links_per_counted(const GpuModel& gpu);

/// NCCL's value for a PCIe slot of this nominal bandwidth.
double pcie_rate(double nominal);

/// NCCL's value for the slot of a GPU of this generation. It limits the rate between GPU and NIC.
double pcie_rate_of_generation(int compute_capability);

/// Speeds per channel, from high to low.
std::span<const double> speeds_inside_node(int compute_capability);
std::span<const double> speeds_between_nodes(int compute_capability);

}  // namespace ddpsim
