// What a collective takes from the last arrival to the end, alone on an idle network.
//
//   T = launch + start(protocol) + hops * latency(protocol, path) + fill + traffic / rate
//
// n ranks, N nodes, g GPUs per node, S bytes per rank, c channels.
//   ring all-reduce   hops = 2(n - 1), of which 2(N - 1) on the network; traffic = 2(n - 1)/n * S.
//                     Simple walks in loops of 2 MiB per channel and rank, and every loop pays the
//                     hops again; on each network hop one slice is stored before it goes on.
//   tree all-reduce   hops = 2(g - 1) + 2 log2(N); a GPU in the middle of the local chain passes S
//                     up and S down, a NIC carries S/2 per tree edge and direction: 1 S with two
//                     nodes, 3/2 with three, 2 from four on. Simple fills 2 * depth chunks.
//   ring broadcast    hops = n - 1, traffic = S, filled by n - 2 slices.
// rate = the slowest of the links inside a node, the NICs of a node and the thread blocks, after
// the protocol's share of payload: LL 1/2, LL128 15/16, Simple 1.
//
// Assumes lockstep ranks, every channel alike, no other traffic, buffers of default size. Source:
// NCCL's kernels (all_reduce.h, prims_*.h) for the structure, open logs for the constants.
// Stops being true where a provider changes its own protocol (libfabric's rendezvous between
// 64 KiB and 1 MiB), for GPUs that reach each other only through host memory, and for in-switch
// reduction, which has a law of its own. Several hundred nodes are extrapolation of hop latencies.
#include "pipeline_law.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ddpsim/sim/collective.hpp"

namespace ddpsim {
namespace {

constexpr PipelineConstants kLaw;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kMiB = 1024.0 * 1024.0;

std::size_t at(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

std::size_t generation(const Cluster& cluster) {
  const int capability = cluster.gpu.compute_capability;
  return capability >= 90 ? 2 : capability >= 80 ? 1 : 0;
}

int log2_floor(int n) {
  int log = 0;
  while ((n >>= 1) != 0) ++log;
  return log;
}

/// By protocol: every second word of LL is a flag, every sixteenth of LL128.
constexpr std::array<double, 3> kPayload{0.5, 0.9375, 1.0};

/// Latencies of one operation in microseconds, rates in bytes per second for all channels.
struct Path {
  double payload = 1;  ///< share of the bytes on the wire that are data
  double start_us = 0;
  double local_us = 0;
  double network_us = 0;
  double local_rate = kInfinite;
  double network_rate = kInfinite;

  double slowest() const { return std::min(local_rate, network_rate); }
};

double local_link_rate(const Cluster& cluster) {
  if (cluster.gpus_per_node <= 1) return kInfinite;
  const double share = cluster.intra.kind == IntraKind::pcie
                           ? kLaw.pcie_share
                           : kLaw.nvlink_share[generation(cluster)];
  return cluster.intra.per_gpu.bytes_per_second() * share;
}

double nic_share(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::efa:
    case NetworkKind::slingshot:
      return kLaw.fabric_share;
    case NetworkKind::tcp:
      return kLaw.socket_share;
    default:
      return kLaw.rdma_share;
  }
}

double network_link_rate(const Cluster& cluster) {
  if (cluster.nodes <= 1) return kInfinite;
  const Network& network = cluster.network;
  double nic = network.per_nic.bytes_per_second() * nic_share(network.kind);
  const bool socket = network.kind == NetworkKind::tcp;
  if (socket) nic = std::min(nic, kLaw.socket_gbps * 1e9);
  double rate = nic * network.nics_per_node / std::max(1.0, network.oversubscription);
  // Slingshot's plugin without GPUDirect was not seen: its flag only tells that LL128 is off.
  if (!socket && network.kind != NetworkKind::slingshot && !network.gpudirect) {
    rate *= kLaw.staged;
  }
  if (!socket && cluster.gpus_per_node == 1) rate *= kLaw.lone_gpu;
  return rate;
}

double network_hop_us(Protocol protocol, const Network& network) {
  const ProtocolLatency* hop = &kLaw.rdma_us;
  double wire = kLaw.rdma_wire_us;
  if (network.kind == NetworkKind::efa || network.kind == NetworkKind::slingshot) {
    hop = &kLaw.fabric_us;
    wire = kLaw.fabric_wire_us;
  } else if (network.kind == NetworkKind::tcp) {
    hop = &kLaw.socket_us;
    wire = kLaw.socket_wire_us;
  }
  const double usual = (*hop)[at(protocol)];
  return network.latency ? usual - wire + network.latency->microseconds() : usual;
}

Path path_of(const CollectiveChoice& choice, const Cluster& cluster) {
  const std::size_t p = at(choice.protocol);
  const bool pcie = cluster.intra.kind == IntraKind::pcie;
  const double pace = generation(cluster) == 2 ? kLaw.hopper_latency : 1.0;
  double blocks = kInfinite;
  if (choice.protocol == Protocol::ll) blocks = kLaw.ll_gbps[generation(cluster)];
  if (choice.protocol == Protocol::ll128) blocks = kLaw.ll128_gbps[generation(cluster)];
  blocks *= 1e9 * choice.channels;
  Path path;
  path.payload = kPayload[p];
  path.start_us = kLaw.launch_us + kLaw.start_us[p] * pace;
  path.local_us = (pcie ? kLaw.pcie_us : kLaw.nvlink_us)[p] * pace;
  path.network_us = network_hop_us(choice.protocol, cluster.network);
  path.local_rate = std::min(local_link_rate(cluster) * kPayload[p], blocks);
  path.network_rate = std::min(network_link_rate(cluster) * kPayload[p], blocks);
  return path;
}

/// Microseconds to move `bytes`; nothing takes no time even where nothing could move.
double move_us(double bytes, double rate) {
  return bytes > 0 ? bytes / rate * 1e6 : 0;
}

/// What every operation over a path has in common; its own terms are still nothing.
PipelineTerms terms_of(const Path& path) {
  return {.start_us = path.start_us,
          .local_hop_us = path.local_us,
          .network_hop_us = path.network_us,
          .payload = path.payload};
}

PipelineTerms ring_all_reduce(const CollectiveChoice& choice, double size, const Cluster& cluster,
                              const Path& path) {
  const double n = cluster.ranks();
  const double network_hops = 2.0 * (cluster.nodes - 1);
  const double local_hops = 2 * (n - 1) - network_hops;
  const double share = size / (choice.channels * n);  // of one rank in one channel
  PipelineTerms terms = terms_of(path);
  if (choice.protocol == Protocol::simple) {
    constexpr double kChunk = 2 * kMiB;
    terms.loops = std::max(1.0, std::ceil(share / kChunk));
    const double slice = std::min(kMiB, share / 2);
    terms.fill_us = network_hops * move_us(slice * choice.channels, path.network_rate);
  }
  terms.latency_us = terms.loops * (local_hops * path.local_us + network_hops * path.network_us);
  terms.transfer_us = move_us(2 * (n - 1) / n * size, path.slowest());
  return terms;
}

PipelineTerms tree_all_reduce(const CollectiveChoice& choice, double size, const Cluster& cluster,
                              const Path& path) {
  const int local_depth = cluster.gpus_per_node - 1;
  const int network_depth = log2_floor(cluster.nodes);
  const int depth = local_depth + network_depth;
  // S/2 per tree edge: 1, 3 or 4 edges at the busiest node.
  const double nic = cluster.nodes <= 1 ? 0 : cluster.nodes == 2 ? 1 : cluster.nodes == 3 ? 1.5 : 2;
  const double chain = local_depth == 0 ? 0 : local_depth == 1 ? 1 : 2;
  PipelineTerms terms = terms_of(path);
  if (choice.protocol == Protocol::simple) {
    const double share = size / choice.channels;
    const double chunk = std::min(share, std::clamp(share / (4 * depth), kMiB / 32, kMiB / 2));
    terms.fill_us = 2 * depth * move_us(chunk * choice.channels, path.slowest());
  }
  terms.latency_us = 2 * (local_depth * path.local_us + network_depth * path.network_us);
  terms.transfer_us =
      std::max(move_us(nic * size, path.network_rate), move_us(chain * size, path.local_rate));
  return terms;
}

PipelineTerms ring_broadcast(const CollectiveChoice& choice, double size, const Cluster& cluster,
                             const Path& path) {
  const int hops = cluster.ranks() - 1;
  const int network_hops = cluster.nodes - 1;
  PipelineTerms terms = terms_of(path);
  if (choice.protocol == Protocol::simple) {
    const double slice = std::min(kMiB / 2, size / choice.channels / 2);
    terms.fill_us = (hops - 1) * move_us(slice * choice.channels, path.slowest());
  }
  terms.latency_us = (hops - network_hops) * path.local_us + network_hops * path.network_us;
  terms.transfer_us = move_us(size, path.slowest());
  return terms;
}

}  // namespace

PipelineTerms pipeline_terms(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
                             const Cluster& cluster) {
  const double bytes = static_cast<double>(std::max<std::int64_t>(0, size.count()));
  const Path path = path_of(choice, cluster);
  if (kind == CollectiveKind::broadcast) return ring_broadcast(choice, bytes, cluster, path);
  if (choice.algorithm == Algorithm::ring) return ring_all_reduce(choice, bytes, cluster, path);
  return tree_all_reduce(choice, bytes, cluster, path);
}

Duration cost(CollectiveKind kind, const CollectiveChoice& choice, Bytes size,
              const Cluster& cluster) {
  if (cluster.ranks() <= 1) return Duration();
  return Duration::microseconds(pipeline_terms(kind, choice, size, cluster).total_us());
}

/// PCIe sends 128 to 256 bytes behind 24 to 28 of headers. (GPU to GPU it reaches far less.)
constexpr double kPciePackets = 0.85;

double wire_share(LinkKind kind, const Cluster& cluster) {
  switch (kind) {
    case LinkKind::nvlink:
      return kLaw.nvlink_share[generation(cluster)];
    case LinkKind::pcie:
      return kPciePackets;
    case LinkKind::socket:
      return 1;
    case LinkKind::nic:
    case LinkKind::network:
      break;
  }
  return nic_share(cluster.network.kind);
}

}  // namespace ddpsim
