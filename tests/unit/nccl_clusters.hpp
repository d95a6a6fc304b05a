// Clusters as NCCL's tuning table sees them, and cells of the table beside figures worked out by hand.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/collective.hpp"
#include "nccl_tuning.hpp"

namespace ddpsim::nccl_clusters {

inline SearchGraph graph(int channels, double gigabytes_per_second) {
  const auto channel = Bandwidth::gigabytes_per_second(gigabytes_per_second);
  return {.channels = channels, .intra = channel, .inter = channel};
}

inline Cluster nvlink(int nodes, int gpus, int capability, SearchGraph search,
                      CpuVendor cpu = CpuVendor::intel) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus_per_node = gpus;
  cluster.gpu.compute_capability = capability;
  cluster.intra.kind = IntraKind::nvswitch;
  cluster.network.kind = nodes > 1 ? NetworkKind::infiniband : NetworkKind::none;
  cluster.cpu = cpu;
  cluster.ring = cluster.tree = search;
  return cluster;
}

/// The same with everything inside a node over PCIe.
inline Cluster pcie(Cluster cluster) {
  cluster.intra.kind = IntraKind::pcie;
  cluster.ring.intra_path = cluster.tree.intra_path = PathKind::pcie;
  return cluster;
}

/// A node of eight Hoppers or Blackwells whose NVSwitches reduce; heads x GB/s as NCCL's search has it.
inline Cluster switched(int nodes, int capability, double inside, double between) {
  Cluster cluster = nvlink(nodes, 8, capability, capability < 100 ? graph(8, 48) : graph(16, 45));
  cluster.nvls = graph(8, inside);
  cluster.nvls.inter = Bandwidth::gigabytes_per_second(between);
  cluster.nvls_channels = 16;
  return cluster;
}

inline const CollectiveTuning kNewest{.nccl = {2, 30, 7}};

/// Latency in microseconds and bandwidth in GB/s of one cell.
inline void check_tuned_entry(const Cluster& cluster, const CollectiveTuning& tuning,
                              Algorithm algorithm, Protocol protocol, double latency,
                              double bandwidth) {
  CAPTURE(to_string(tuning.nccl));
  CAPTURE(name_of(algorithm));
  CAPTURE(name_of(protocol));
  const TuningEntries entries = tuning_entries(CollectiveKind::all_reduce, cluster, tuning);
  const TuningEntry& entry = entries[at(algorithm)][at(protocol)];
  CHECK(static_cast<double>(entry.latency_us) == doctest::Approx(latency).epsilon(1e-5));
  CHECK(static_cast<double>(entry.bandwidth_gbps) == doctest::Approx(bandwidth).epsilon(1e-5));
}
inline void check_entry(const Cluster& cluster, NcclVersion version, Algorithm algorithm,
                        Protocol protocol, double latency, double bandwidth) {
  check_tuned_entry(cluster, {.nccl = version}, algorithm, protocol, latency, bandwidth);
}

}  // namespace ddpsim::nccl_clusters
