// Selects the pipeline cost model's constants for a cluster.
#include <algorithm>
#include <limits>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "pipeline_cost.hpp"

namespace ddpsim {
namespace {

constexpr PipelineConstants kCostModel;

struct Range {
  double least = 0;
  double most = 0;
};

std::size_t generation(const Cluster& cluster) {
  const int capability = cluster.gpu.compute_capability;
  return capability >= 90 ? 2 : capability >= 80 ? 1 : 0;
}

/// GPUDirect-TCPX has no constants of its own. It uses those of EFA, the other transport that a
/// plugin drives with GPUDirect.
const NetworkLatency& latency_of(const Network& network) {
  switch (network.kind) {
    case NetworkKind::efa:
      return kCostModel.efa;
    case NetworkKind::slingshot:
      return kCostModel.slingshot;
    case NetworkKind::tcp:
      return through_sockets(network) ? kCostModel.socket : kCostModel.efa;
    default:
      return kCostModel.rdma;
  }
}

ProtocolLatency times(ProtocolLatency latency, double factor) {
  for (double& us : latency) us *= factor;
  return latency;
}

/// Whether it is Volta's EFA.
bool is_first_efa(const Cluster& cluster) {
  return cluster.network.kind == NetworkKind::efa && cluster.gpu.compute_capability < 80;
}

/// Share of a NIC's nominal rate that reaches the GPUs of a node as data and flags.
double nic_share(const Cluster& cluster) {
  const Network& network = cluster.network;
  const double gigabytes = network.per_nic.gigabytes_per_second();
  const auto at_most = [&](double share, double rate) {
    return gigabytes > 0 ? std::min(share, rate / gigabytes) : share;
  };
  switch (network.kind) {
    case NetworkKind::tcp:
      if (!through_sockets(network)) return kCostModel.efa_share;
      return at_most(kCostModel.socket_share, kCostModel.socket_gbps);
    case NetworkKind::slingshot:
      return generation(cluster) == 1
                 ? at_most(kCostModel.slingshot_share, kCostModel.host_bridge_gbps)
                 : kCostModel.slingshot_share;
    case NetworkKind::efa:
      return kCostModel.efa_share * (is_first_efa(cluster) ? kCostModel.first_efa : 1);
    default:
      return kCostModel.rdma_share;
  }
}

/// Share of a slot's nominal rate with which GPUs of a node reach each other.
double pcie_share(const Interconnect& links) {
  if (links.peers == PeerAccess::one_root) return kCostModel.one_root_share;
  if (links.peers == PeerAccess::sockets || !(links.to_host > Bandwidth()))
    return kCostModel.host_share;
  return kCostModel.host_share * std::min(1.0, links.to_host / links.per_gpu);
}

/// Share of a slot if as many GPUs use one root port as on any known machine.
double least_host_share(const Cluster& cluster) {
  const int together = std::min(cluster.gpus_per_node, kMostPerRoot);
  return kCostModel.host_share / together;
}

/// Smallest and largest share of a slot's rate that the unknown properties of PCIe allow.
Range pcie_shares(const Cluster& cluster) {
  const Interconnect& links = cluster.intra;
  const double usual = pcie_share(links);
  Interconnect host = links;
  host.peers = PeerAccess::host;
  Range shares{usual, usual};
  if (links.peers_assumed)
    shares = {std::min(usual, pcie_share(host)), kCostModel.one_root_share};
  else if (links.peers == PeerAccess::host && links.roots_assumed)
    shares.most = kCostModel.host_share;
  const bool shared = links.peers_assumed || links.peers == PeerAccess::host;
  if (links.roots_assumed && shared)
    shares.least = std::min(shares.least, least_host_share(cluster));
  return shares;
}

/// GB/s of bus bandwidth if GPUs of a node reach each other at that share of a slot.
double bus_rate(const Cluster& cluster, double share) {
  const double inside = cluster.intra.per_gpu.gigabytes_per_second() * share;
  if (cluster.nodes <= 1) return inside;
  const Network& network = cluster.network;
  return std::min(
      inside, network.per_nic.gigabytes_per_second() * network.nics_per_node * nic_share(cluster));
}

/// Bytes that a block's broadcasting threads read and write for each byte of a tree's channel, if
/// all edges between nodes end at one GPU. They are the data sent by its parent once, its own
/// result, and the data each child gets. These threads are the slower part of any block that also
/// reduces (runTreeSplit in all_reduce.h). A root's threads do both.
int tree_touches(const Cluster& cluster) {
  const int in_chain = cluster.gpus_per_node > (cluster.nodes > 1 ? 1 : 2) ? 1 : 0;
  return 2 + in_chain + std::clamp(cluster.nodes - 2, 0, 2);
}

/// Share of the threads that broadcast: 256 of 640 with Simple, 192 with LL128.
constexpr double kBroadcastsSimple = 0.4;
constexpr double kBroadcastsLl128 = 0.3;

/// Rate share of switches that add up the streams of all GPUs of a node.
double nvls_share(const Cluster& cluster) {
  const double share = kCostModel.nvls_share[cluster.gpu.compute_capability >= 100 ? 1 : 0];
  const double doublings = elementary::log2(std::max(8, cluster.gpus_per_node) / 8.0);
  return share * elementary::pow(kCostModel.nvls_fan_in, doublings);
}

}  // namespace

TreeFactors tree_factors(const Cluster& cluster) {
  if (cluster.calibration) return {};
  TreeFactors factors;
  const bool blackwell = cluster.gpu.compute_capability >= 100;
  if (blackwell && (cluster.nodes == 1 || cluster.tree_at_one_gpu)) {
    const double touched = kCostModel.blackwell_block_gbps / tree_touches(cluster);
    factors.ll128_gbps = kBroadcastsLl128 * touched;
    factors.simple_gbps = kBroadcastsSimple * touched;
  }
  if (cluster.nodes < 2) return factors;
  const Network& network = cluster.network;
  const bool shared = network.nics_per_node < cluster.gpus_per_node;
  factors.start = kCostModel.tree_start;
  if (network.kind == NetworkKind::slingshot) factors.simple_hop = kCostModel.slingshot_tree_hop;
  if (cluster.nodes > 2)
    factors.network = blackwell && !shared ? 1 : kCostModel.tree_branches;
  else if (shared)
    factors.network = kCostModel.tree_shared_nics;
  return factors;
}

double nvlink_share(const Cluster& cluster) {
  if (cluster.gpu.vendor == GpuVendor::amd) return kCostModel.xgmi_share;
  return kCostModel.nvlink_share[generation(cluster)];
}

double ll_proxies_rate(int channels, const Cluster& cluster) {
  // Constants from a log already contain the proxies it was measured with.
  if (cluster.calibration) return std::numeric_limits<double>::infinity();
  const int senders = std::min(cluster.gpus_per_node, cluster.network.nics_per_node);
  return 1e9 * kCostModel.ll_proxy_gbps * std::clamp(channels, 1, std::max(senders, 1));
}

double unhidden_hop_share(const Cluster& cluster) {
  return latency_of(cluster.network).unhidden;
}

double slot_share_to_nics(const Cluster& cluster) {
  const Network& network = cluster.network;
  // Slingshot's NICs are at the processor anyway. The constants of the first EFA, or of a log,
  // already contain this.
  const bool by_slot = network.kind == NetworkKind::infiniband ||
                       network.kind == NetworkKind::roce ||
                       (network.kind == NetworkKind::efa && !is_first_efa(cluster));
  const bool staged = by_slot && !network.gpudirect && !cluster.calibration;
  return staged ? kCostModel.host_share : kPciePackets;
}

double connections_rate(int channels, const Cluster& cluster, double message) {
  const Network& network = cluster.network;
  // Constants from a log already contain the connections of its channels.
  if (!through_sockets(network) || cluster.calibration)
    return std::numeric_limits<double>::infinity();
  const double usual =
      1e9 * (network.sockets == Sockets::virtual_nic ? kCostModel.virtual_connection_gbps
                                                     : kCostModel.connection_gbps);
  const double one = network.connection ? network.connection->bytes_per_second() : usual;
  if (!(message > 0)) return channels * one;
  return channels * one / (1 + one * kCostModel.message_us * 1e-6 / message);
}

double host_blocks_rate(int channels, const Cluster& cluster) {
  const bool direct =
      cluster.intra.kind != IntraKind::pcie || cluster.intra.peers == PeerAccess::one_root;
  // Constants from a log already contain the blocks it was measured with.
  if (direct || cluster.calibration) return std::numeric_limits<double>::infinity();
  return 1e9 * kCostModel.host_block_gbps * channels;
}

double nvlink_blocks_rate(int limit, const Cluster& cluster) {
  const bool nvlink = cluster.gpu.vendor != GpuVendor::amd && cluster.intra.kind != IntraKind::pcie;
  if (limit == 0 || !nvlink) return std::numeric_limits<double>::infinity();
  constexpr int kBlackwell = 100;
  const double block = cluster.gpu.compute_capability >= kBlackwell
                           ? kCostModel.blackwell_simple_gbps
                           : kCostModel.simple_gbps[generation(cluster)];
  return 1e9 * block * limit;
}

PeerEnds peer_ends(const Cluster& cluster) {
  if (cluster.calibration || cluster.gpus_per_node < 2 || cluster.intra.kind != IntraKind::pcie)
    return {};
  const Range shares = pcie_shares(cluster);
  const double usual = bus_rate(cluster, pcie_share(cluster.intra));
  return {usual / bus_rate(cluster, shares.most), usual / bus_rate(cluster, shares.least)};
}

PathConstants constants_of(const Cluster& cluster) {
  if (cluster.calibration) return cluster.calibration->constants;
  const std::size_t gpu = generation(cluster);
  const bool pcie = cluster.intra.kind == IntraKind::pcie;
  const double slower = gpu == 2 ? kCostModel.hopper_latency : 1.0;
  const NetworkLatency& latency = latency_of(cluster.network);
  PathConstants constants{
      .launch_us = kCostModel.launch_us,
      .start_us = times(kCostModel.start_us, slower),
      .local_us = pcie ? kCostModel.pcie_us : times(kCostModel.nvlink_us, slower),
      .hop_us = latency.hop_us,
      .rendezvous_us = latency.rendezvous_us,
      .channel_us = kCostModel.channel_us,
      .local_share = pcie ? pcie_share(cluster.intra) : nvlink_share(cluster),
      .nic_share = nic_share(cluster),
      .single_gpu_per_node = is_first_efa(cluster) ? kCostModel.first_efa_both_ways : 1,
      .ll_gbps = kCostModel.ll_gbps[gpu],
      .ll128_gbps = kCostModel.ll128_gbps[gpu],
      .nvls_start_us = kCostModel.nvls_start_us,
      .nvls_wave_us = kCostModel.nvls_wave_us,
      .nvls_share = nvls_share(cluster),
      .overlap = kCostModel.overlap,
  };
  if (cluster.network.latency) {
    const double wire = cluster.network.latency->microseconds() - latency.wire_us;
    for (double& us : constants.hop_us) us += wire;
  }
  return constants;
}

}  // namespace ddpsim
