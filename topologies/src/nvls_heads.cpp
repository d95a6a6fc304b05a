// For a head, the switch reduces its share of the data and sends the result to all GPUs of its
// node. With h heads, a GPU's link carries every head's stream once, and its own stream twice:
//
// - heads: In one node, every GPU is a head. With several nodes, the GPU nearest each NIC is. There
//   are at most 32 (NCCL_MAX_NVLS_ARITY).
// - inside: The speed is the largest searched speed s with (h + 1) * s <= B, where B is NCCL's
//   bandwidth of one GPU.
// - between: The speed is the largest searched speed that a NIC and its slot can carry.
//
// Two GPUs gain nothing, so NCCL requires three. Source: graph/search.cc (ncclTopoSearchTryNvls,
// ncclTopoSearchRecNet) and transport/nvls.cc, 2.21 to 2.30.
#include "nvls_heads.hpp"

#include <algorithm>
#include <span>

#include "ddpsim/sim/nccl/nccl.hpp"
#include "nccl_rates.hpp"

namespace ddpsim {
namespace {

constexpr double kGb = 1e9;

/// The largest speed in NCCL's list that is at most `limit` (GB/s); 0 if there is none.
double searched(std::span<const double> speeds, double limit) {
  for (const double speed : speeds) {
    if (speed <= limit * (1 + 1e-9)) return speed;
  }
  return 0;
}

/// The GPU nearest to the NIC that is not a head yet. Absent if only farther ones are left.
std::optional<std::uint32_t> head_of(std::uint32_t nic, const NodePaths& paths,
                                     const std::vector<SwitchHead>& heads) {
  std::optional<std::uint32_t> nearest;
  std::optional<PathClass> least;
  for (std::uint32_t gpu = 0; gpu < paths.gpus(); ++gpu) {
    const NodePath* path = paths.from_nic(nic, gpu);
    if (path == nullptr || (least && path->path > *least)) continue;
    if (least && path->path == *least && nearest) continue;
    least = path->path;
    const bool taken =
        std::ranges::any_of(heads, [&](const SwitchHead& head) { return head.gpu == gpu; });
    nearest = taken ? std::nullopt : std::optional(gpu);
  }
  return nearest;
}

}  // namespace

std::vector<SwitchHead> switch_heads(const NodePaths& paths, bool several_nodes, int most) {
  std::vector<SwitchHead> heads;
  const std::uint32_t found = several_nodes ? paths.nics() : paths.gpus();
  for (std::uint32_t i = 0; i < found && static_cast<int>(heads.size()) < most; ++i) {
    const auto gpu = several_nodes ? head_of(i, paths, heads) : std::optional(i);
    if (gpu) heads.push_back({*gpu, i});
  }
  return heads;
}

int common_heads(std::span<const NodePaths> paths, bool several_nodes) {
  int heads = kMostNvlsHeads;
  for (const NodePaths& of_type : paths)
    heads = static_cast<int>(switch_heads(of_type, several_nodes, heads).size());
  return heads;
}

void derive_nvls(Cluster& cluster, int heads) {
  cluster.nvls = {.channels = 0};
  cluster.nvls_channels = 0;
  const int capability = cluster.gpu.compute_capability;
  const bool switched = cluster.intra.kind == IntraKind::nvswitch && capability >= 90;
  if (!switched || cluster.gpus_per_node < 3 || heads == 0) return;
  const NvlinkRate rate = nvlink_rate(cluster.gpu);
  const double gpu = cluster.intra.per_gpu.bytes_per_second() / kGb * rate.nccl / rate.nominal;
  const bool several = cluster.nodes > 1;
  const auto speeds = several ? speeds_between_nodes(capability) : speeds_inside_node(capability);
  const double inside = searched(speeds, gpu / (heads + 1));
  if (inside == 0) return;
  double between = inside;
  if (several) {
    const double nic = std::min(cluster.network.per_nic.bytes_per_second() / kGb,
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
