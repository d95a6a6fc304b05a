#include "memory_load.hpp"

#include <algorithm>

namespace ddpsim {

double memory_load(CollectiveKind kind, Bytes bytes, Duration transfer, const Cluster& cluster) {
  const double ranks = cluster.ranks();
  const double bandwidth = cluster.gpu.memory_bandwidth.bytes_per_second();
  if (ranks <= 1 || transfer <= Duration() || bandwidth <= 0) return 0;
  constexpr double kAccessesPerByte = 3;
  const double passing = ring_steps(kind, cluster.ranks()) / ranks;
  const double traffic = kAccessesPerByte * passing * static_cast<double>(bytes.count());
  return std::min(1.0, traffic / transfer.seconds() / bandwidth);
}

}  // namespace ddpsim
