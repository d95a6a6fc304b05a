// NCCL searches a graph of the node for as many channels as fit, from the highest speed in its list
// downwards, and keeps the solution with the largest channels x speed (NVIDIA/nccl
// src/graph/search.cc, 2.21 to 2.30). Where all GPUs of a node look alike the outcome follows from
// counting:
//
//   fit(s)      channels of speed s that the links inside a node carry at once
//               switch, PCIe:  floor(B / s), B = NCCL's bandwidth of one GPU
//               direct links:  max over k of rings(k) * floor(k * b / s), k = links per hop,
//                              b = NCCL's bandwidth of one link, rings(k) = disjoint rings
//   one node:   maximise s * fit(s)
//   several:    maximise s * min(fit(s), NICs * floor(NIC / s)); NIC also bounded by the PCIe slot.
//               Behind a switch a channel leaves the node at one GPU, which then needs no NVLink
//               for it: of c channels spread over g GPUs only c - floor(c/g) load each link
//   order:      from high to low; of equals the first; once a solution at speed b is known, speeds
//               below 0.49 b are not tried any more
//   duplicate:  a channel of 25 GB/s or more is split in two of half the speed, except on sm_90 and
//               later when it is below 50 GB/s and there are more than 4 (ncclTopoDupChannels)
//   tree:       as many channels as the ring; between nodes its speed inside a node may rise to
//               twice the speed between nodes, as far as the links carry it
//
// It stops being true where GPUs differ in their distance to each other or to the NICs: that takes
// the real search. NCCL would also split the tree's channels alone in some multi-node shapes; here
// ring and tree keep one count, their products (what the tuning table uses) are the same.
#include "channel_derivation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "link_rings.hpp"
#include "nccl_rates.hpp"

namespace ddpsim {
namespace {

constexpr int kMostSearchChannels = 32;  // half of MAXCHANNELS = 64, since 2.25
constexpr double kGb = 1e9;

/// floor(a / b) that forgives the last bit: 3 * 41.2 must hold three times 41.2.
int times(double a, double b) {
  return static_cast<int>(std::min(std::floor(a / b + 1e-9), 1e6));
}

/// The links inside a node, in NCCL's figures (GB/s).
class NodeLinks {
 public:
  NodeLinks(const ClusterDescription& description, Interconnect& intra)
      : described_(description.interconnect),
        total_(description.gpus_in_layout),
        kept_(description.gpus_per_node) {
    const NvlinkRate rate = nvlink_rate(description.gpu.compute_capability);
    if (kept_ < 2) {
      intra = Interconnect{};
      bandwidth_ = std::numeric_limits<double>::infinity();
      return;
    }
    intra.kind = described_.kind;
    intra.per_gpu = described_.per_gpu;
    const double nominal = described_.per_gpu.bytes_per_second() / kGb;
    if (described_.kind == IntraKind::nvswitch) {
      intra.links_per_gpu = static_cast<int>(std::lround(std::min(nominal / rate.nominal, 1e6)));
      bandwidth_ = nominal * rate.nccl / rate.nominal;
      spreads_ = true;
    } else if (described_.kind == IntraKind::pcie) {
      bandwidth_ = pcie_rate(nominal);
    } else {
      per_link_ = described_.per_link.bytes_per_second() / kGb * rate.nccl / rate.nominal;
      const int rings = directed_rings(described_, total_, kept_, 1);
      if (rings == 0) {
        // Some GPU has fewer than two neighbours left (a DGX-1 with 5 GPUs): through the host, a
        // Gen3 slot less the sixth that peer traffic loses in an Intel root complex.
        intra = {IntraKind::pcie, Bandwidth::gigabytes_per_second(15.75), 0};
        bandwidth_ = 12 / 1.2;
        per_link_ = 0;
        return;
      }
      intra.links_per_gpu = rings;
      intra.per_gpu = described_.per_link * static_cast<double>(rings);
      bandwidth_ = per_link_ * rings;
      spreads_ = kept_ == 2;
    }
  }

  double bandwidth() const { return bandwidth_; }

  /// Channels of this speed that run through all GPUs of a node, as rings inside it or, when
  /// `between_nodes`, from one NIC to another.
  int fit(double speed, bool between_nodes) const {
    if (between_nodes && kept_ >= 2 && spreads_) {
      int channels = 0;
      while (channels < kMostSearchChannels &&
             channels + 1 - (channels + 1) / kept_ <= times(bandwidth_, speed)) {
        ++channels;
      }
      return channels;
    }
    if (per_link_ == 0) return times(bandwidth_, speed);
    int most = 0;
    for (int width = 1; width <= widest_hop(described_, total_); ++width) {
      const int each = times(per_link_ * width, speed);
      if (each == 0) continue;
      most = std::max(most, each * directed_rings(described_, total_, kept_, width));
    }
    return most;
  }

 private:
  const InterconnectDescription& described_;
  int total_;
  int kept_;
  double per_link_ = 0;   ///< direct links only
  double bandwidth_ = 0;  ///< of one GPU
  bool spreads_ = false;  ///< whatever leaves a GPU by another way frees its links for any peer
};

struct Channels {
  int count = 1;
  double speed = 0;
};

/// The largest count * speed; of equals the highest speed, which NCCL tries first.
template <typename Fit>
Channels best_of(std::span<const double> speeds, Fit fit, double otherwise) {
  Channels best{1, 0};
  for (const double speed : speeds) {
    if (best.speed > 0 && speed <= 0.49 * best.speed) break;
    const int count = std::min(fit(speed), kMostSearchChannels);
    if (count * speed > best.count * best.speed * (1 + 1e-12)) best = {count, speed};
  }
  // Slower than NCCL's slowest speed: it would give up and assume 0.1 GB/s; the wire is the truth.
  if (best.speed == 0) best = {1, otherwise};
  return best;
}

/// How much the speed inside a node may exceed the speed between nodes for a tree.
double tree_speed(std::span<const double> speeds, Channels ring, const NodeLinks& links) {
  double speed = ring.speed;
  for (auto next = speeds.rbegin(); next != speeds.rend(); ++next) {
    if (*next <= speed) continue;
    if (*next > 2 * ring.speed || links.fit(*next, true) < ring.count) break;
    speed = *next;
  }
  return speed;
}

bool splits_channels(Channels ring, int compute_capability) {
  if (ring.speed < 25 || 2 * ring.count > kMostSearchChannels) return false;
  return !(compute_capability >= 90 && ring.speed < 50 && ring.count > 4);
}

int nvls_channels(const Cluster& cluster) {
  const bool multicast = cluster.intra.kind == IntraKind::nvswitch;
  if (!multicast || cluster.gpu.compute_capability < 90) return 0;
  if (cluster.gpu.compute_capability < 100) return 16;
  return cluster.nodes == 1 ? 24 : 32;
}

SearchGraph graph(Channels ring, double intra, double inter, PathKind path) {
  return {ring.count, Bandwidth::gigabytes_per_second(intra),
          Bandwidth::gigabytes_per_second(inter), path};
}

}  // namespace

void derive_channels(const ClusterDescription& description, Cluster& cluster) {
  const int capability = cluster.gpu.compute_capability;
  const NodeLinks links(description, cluster.intra);
  const auto fit = [&](double speed) { return links.fit(speed, false); };
  // One GPU per node counts as PCIe in NCCL's tuning: its path class is not "NVLink".
  const bool nvlink =
      cluster.intra.kind == IntraKind::nvswitch || cluster.intra.kind == IntraKind::nvlink;
  const PathKind path = nvlink ? PathKind::nvlink : PathKind::pcie;
  cluster.nvls_channels = nvls_channels(cluster);

  if (cluster.ranks() == 1) {
    constexpr double kLocal = 5000;  // NCCL's figure for a path that leaves no GPU
    cluster.ring = cluster.tree = graph({1, kLocal}, kLocal, kLocal, path);
    return;
  }
  Channels ring;
  double tree = 0;
  if (description.stated) {
    ring = {description.stated->channels, description.stated->per_channel.bytes_per_second() / kGb};
    cluster.ring = cluster.tree = graph(ring, ring.speed, ring.speed, path);
    return;
  }
  if (cluster.nodes == 1) {
    ring = best_of(speeds_inside_node(capability), fit, links.bandwidth());
    tree = ring.speed;
  } else {
    const double slot = cluster.intra.kind == IntraKind::pcie ? links.bandwidth()
                                                              : pcie_rate_of_generation(capability);
    const double nic = std::min(cluster.network.per_nic.bytes_per_second() / kGb, slot);
    const auto speeds = speeds_between_nodes(capability);
    ring = best_of(
        speeds,
        [&](double speed) {
          return std::min(links.fit(speed, true),
                          cluster.network.nics_per_node * times(nic, speed));
        },
        std::min(nic, links.bandwidth()));
    tree = cluster.gpus_per_node == 1 ? ring.speed : tree_speed(speeds, ring, links);
  }
  if (splits_channels(ring, capability)) {
    ring = {2 * ring.count, ring.speed / 2};
    tree /= 2;
  }
  cluster.ring = graph(ring, ring.speed, ring.speed, path);
  cluster.tree = graph(ring, tree, ring.speed, path);
}

}  // namespace ddpsim
