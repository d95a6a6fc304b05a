#include "pipeline_path.hpp"

#include <algorithm>
#include <cmath>

#include "pipeline_law.hpp"

namespace ddpsim {
namespace {

constexpr PipelineConstants kLaw;

std::size_t at(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

std::size_t generation(const Cluster& cluster) {
  const int capability = cluster.gpu.compute_capability;
  return capability >= 90 ? 2 : capability >= 80 ? 1 : 0;
}

/// By protocol: every second word of LL is a flag, every sixteenth of LL128.
constexpr std::array<double, 3> kPayload{0.5, 0.9375, 1.0};

const NetworkLatency& latency_of(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::efa:
      return kLaw.efa;
    case NetworkKind::slingshot:
      return kLaw.slingshot;
    case NetworkKind::tcp:
      return kLaw.socket;
    default:
      return kLaw.rdma;
  }
}

double local_share(const Cluster& cluster) {
  return cluster.intra.kind == IntraKind::pcie ? kLaw.pcie_share
                                               : kLaw.nvlink_share[generation(cluster)];
}

/// Share of a NIC's nominal rate that reaches GPUs as data and flags.
double nic_share(const Cluster& cluster) {
  const Network& network = cluster.network;
  const double gigabytes = network.per_nic.gigabytes_per_second();
  const bool first_efa = network.kind == NetworkKind::efa && cluster.gpu.compute_capability < 80;
  const auto at_most = [&](double share, double rate) {
    return gigabytes > 0 ? std::min(share, rate / gigabytes) : share;
  };
  if (network.kind == NetworkKind::tcp) return at_most(kLaw.socket_share, kLaw.socket_gbps);
  double share = kLaw.rdma_share;
  if (network.kind == NetworkKind::efa) share = kLaw.efa_share;
  if (network.kind == NetworkKind::slingshot) {
    share = kLaw.slingshot_share;
    if (generation(cluster) == 1) share = at_most(share, kLaw.host_bridge_gbps);
  } else if (!network.gpudirect || first_efa) {
    share *= kLaw.staged;
  }
  return cluster.gpus_per_node == 1 ? share * kLaw.lone_gpu : share;
}

double network_rate(const Cluster& cluster) {
  const Network& network = cluster.network;
  return network.per_nic.bytes_per_second() * nic_share(cluster) * network.nics_per_node /
         std::max(1.0, network.oversubscription);
}

}  // namespace

Path path_of(const CollectiveChoice& choice, const Cluster& cluster) {
  const std::size_t p = at(choice.protocol);
  const bool pcie = cluster.intra.kind == IntraKind::pcie;
  const double pace = generation(cluster) == 2 ? kLaw.hopper_latency : 1.0;
  double blocks = std::numeric_limits<double>::infinity();
  if (choice.protocol == Protocol::ll) blocks = kLaw.ll_gbps[generation(cluster)];
  if (choice.protocol == Protocol::ll128) blocks = kLaw.ll128_gbps[generation(cluster)];
  blocks *= 1e9 * choice.channels;
  Path path;
  path.payload = kPayload[p];
  path.start_us = kLaw.launch_us + kLaw.start_us[p] * pace;
  path.local_us = pcie ? kLaw.pcie_us[p] : kLaw.nvlink_us[p] * pace;
  if (cluster.gpus_per_node > 1) {
    const double links = cluster.intra.per_gpu.bytes_per_second() * local_share(cluster);
    path.local_rate = std::min(links * path.payload, blocks);
  }
  if (cluster.nodes > 1) {
    path.network_rate = std::min(network_rate(cluster) * path.payload, blocks);
  }
  return path;
}

double network_hop_us(Protocol protocol, double message, const Cluster& cluster) {
  const NetworkLatency& latency = latency_of(cluster.network.kind);
  const double wire =
      cluster.network.latency ? cluster.network.latency->microseconds() - latency.wire_us : 0;
  // From eager messages to rendezvous, over three powers of two.
  constexpr double kEager = 8 * 1024;
  const double on_wire = std::max(message / kPayload[at(protocol)], 1.0);
  const double rendezvous = std::clamp(std::log2(on_wire / kEager) / 3, 0.0, 1.0);
  return latency.hop_us[at(protocol)] + rendezvous * latency.rendezvous_us + wire;
}

int tree_depth(int nodes) {
  int depth = 0;
  while ((std::int64_t{1} << depth) < nodes) ++depth;
  return depth;
}

double tree_traffic(int nodes) {
  if (nodes <= 1) return 0;
  return nodes == 2 ? 1 : nodes == 3 ? 1.5 : 2;
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
  return nic_share(cluster);
}

}  // namespace ddpsim
