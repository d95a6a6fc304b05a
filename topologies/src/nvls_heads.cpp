// Each of the g GPUs of a node is head of one channel: it has the switch reduce its share of the data
// and sends the result to all. A GPU's link so carries every head's stream once and its own twice:
//
//   inside   the largest searched speed s with (g + 1) * s <= B, B = NCCL's bandwidth of one GPU
//   between  the largest searched speed that each head's part of the node's NICs can carry
//
// Two GPUs gain nothing, so NCCL asks for three. Source: graph/search.cc (ncclTopoSearchTryNvls) and
// transport/nvls.cc, 2.21 to 2.30.
#include "nvls_heads.hpp"

#include <algorithm>
#include <span>

#include "nccl_rates.hpp"

namespace ddpsim {
namespace {

constexpr double kGb = 1e9;

/// The largest speed of NCCL's list not above `limit` (GB/s); 0 when even its slowest is.
double searched(std::span<const double> speeds, double limit) {
  for (const double speed : speeds) {
    if (speed <= limit * (1 + 1e-9)) return speed;
  }
  return 0;
}

}  // namespace

void derive_nvls(Cluster& cluster) {
  cluster.nvls = {.channels = 0};
  cluster.nvls_channels = 0;
  const int capability = cluster.gpu.compute_capability;
  const int heads = cluster.gpus_per_node;
  if (cluster.intra.kind != IntraKind::nvswitch || capability < 90 || heads < 3) return;
  const NvlinkRate rate = nvlink_rate(cluster.gpu);
  const double gpu = cluster.intra.per_gpu.bytes_per_second() / kGb * rate.nccl / rate.nominal;
  const bool several = cluster.nodes > 1;
  const auto speeds = several ? speeds_between_nodes(capability) : speeds_inside_node(capability);
  const double inside = searched(speeds, gpu / (heads + 1));
  if (inside == 0) return;
  double between = inside;
  if (several) {
    const Network& network = cluster.network;
    const double nic =
        std::min(network.per_nic.bytes_per_second() / kGb * network.nics_per_node / heads,
                 pcie_rate_of_generation(capability));
    between = std::min(inside, searched(speeds, nic));
    if (between == 0) return;
  }
  cluster.nvls = {.channels = heads,
                  .intra = Bandwidth::gigabytes_per_second(inside),
                  .inter = Bandwidth::gigabytes_per_second(between),
                  .intra_path = PathKind::nvlink};
  cluster.nvls_channels = capability < 100 ? 16 : several ? 32 : 24;
}

}  // namespace ddpsim
