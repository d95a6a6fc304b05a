#include "pipeline_path.hpp"

#include <algorithm>

#include "ddpsim/sim/values/elementary.hpp"
#include "nccl_tuning.hpp"
#include "pipeline_cost.hpp"

namespace ddpsim {
namespace {

/// Data share by protocol: every second word of LL is a flag, every sixteenth of LL128.
constexpr std::array<double, 3> kPayload{0.5, 0.9375, 1.0};

/// Share of a NIC's nominal rate that reaches GPUs as data and flags.
double nic_share(const Cluster& cluster, const PathConstants& constants) {
  const bool lone = cluster.gpus_per_node == 1 && !through_sockets(cluster.network);
  return constants.nic_share * (lone ? constants.single_gpu_per_node : 1);
}

double network_rate(CollectiveKind kind, const Cluster& cluster, const PathConstants& constants) {
  const Network& network = cluster.network;
  const double nic = network.per_nic.bytes_per_second() * nic_share(cluster, constants);
  return kind == CollectiveKind::send_recv ? nic : nic * network.nics_per_node;
}

double wire_share(LinkKind kind, const Cluster& cluster, const PathConstants& constants) {
  switch (kind) {
    case LinkKind::nvlink:
      if (cluster.intra.kind == IntraKind::pcie) return nvlink_share(cluster);
      return cluster.nvls_channels > 0 ? std::max(constants.local_share, constants.nvls_share)
                                       : constants.local_share;
    case LinkKind::pcie:
      return kPciePackets;
    case LinkKind::socket:
      return 1;
    case LinkKind::nic:
    case LinkKind::network:
      break;
  }
  return nic_share(cluster, constants);
}

/// Rate in bytes per second of every hop, all channels together, that the busiest link still
/// carries. `slots` is the usable share of PCIe slots.
double wires_rate(const SecondsPerByte& load, double slots, const Cluster& cluster,
                  const PathConstants& constants) {
  double busy = 0;
  for (std::size_t i = 0; i < load.size(); ++i) {
    const auto kind = static_cast<LinkKind>(i);
    const double share = kind == LinkKind::pcie ? slots : wire_share(kind, cluster, constants);
    if (load[i] > 0) busy = std::max(busy, load[i] / share);
  }
  return busy > 0 ? 1 / busy : std::numeric_limits<double>::infinity();
}

bool in_switch(const CollectiveChoice& choice) {
  return choice.algorithm == Algorithm::nvls || choice.algorithm == Algorithm::nvls_tree;
}

/// Limits each rate to what the cluster's links carry. One byte on a tree's hops means several
/// bytes for a GPU in the chain and a NIC at a fork.
void obey_wires(Path& path, CollectiveKind kind, const CollectiveChoice& choice,
                const Cluster& cluster, const PathConstants& constants) {
  if (cluster.loads == nullptr) return;
  // All channels of a pair use the same links.
  const int ways = kind == CollectiveKind::send_recv ? 1 : choice.channels;
  const LinkLoad& ring = cluster.loads->of(ChannelShape::ring, ways);
  const LinkLoad& tree = cluster.loads->of(ChannelShape::tree, choice.channels);
  const auto obey = [&](double& rate, const SecondsPerByte& busy, double traffic,
                        double slots = kPciePackets) {
    rate = std::min(rate, traffic * wires_rate(busy, slots, cluster, constants) * path.payload);
  };
  const bool chains = choice.algorithm == Algorithm::tree;
  if (in_switch(choice)) {
    // One byte on each hop is one byte of what a link carries for all heads, and of what a NIC of
    // two trees carries for its head.
    const LinkLoad& switched = cluster.loads->of(ChannelShape::in_switch, 1);
    obey(path.local_rate, switched.local, 1);
    obey(path.network_rate, switched.network, tree_traffic(cluster.nodes),
         slot_share_to_nics(cluster));
    return;
  }
  if (cluster.gpus_per_node > 1)
    obey(path.local_rate, chains ? tree.local : ring.local,
         chains ? chain_traffic(cluster.gpus_per_node) : 1);
  if (cluster.nodes <= 1) return;
  const double forks = tree_traffic(cluster.nodes);
  obey(path.network_rate, chains ? tree.network : ring.network, chains ? forks : 1,
       slot_share_to_nics(cluster));
}

}  // namespace

Path path_of(CollectiveKind kind, const CollectiveChoice& choice, const Cluster& cluster) {
  const PathConstants constants = constants_of(cluster);
  const std::size_t p = at(choice.protocol);
  double blocks = std::numeric_limits<double>::infinity();
  if (choice.protocol == Protocol::ll) blocks = constants.ll_gbps;
  if (choice.protocol == Protocol::ll128) blocks = constants.ll128_gbps;
  blocks *= 1e9 * choice.channels;
  const bool chains = choice.algorithm == Algorithm::tree;
  const TreeFactors tree = chains ? tree_factors(cluster) : TreeFactors{};
  Path path;
  path.payload = kPayload[p];
  path.start_us = constants.launch_us + constants.start_us[p] * tree.start +
                  constants.per_channel_start_us * (choice.channels - 1);
  path.local_us = constants.local_us[p];
  if (cluster.gpus_per_node > 1 && !in_switch(choice)) {
    const double links = cluster.intra.per_gpu.bytes_per_second() * constants.local_share;
    path.local_rate = std::min(links * path.payload, blocks);
    if (choice.protocol == Protocol::simple)
      path.local_rate = std::min({path.local_rate, host_blocks_rate(choice.channels, cluster),
                                  nvlink_blocks_rate(choice.channel_limit, cluster)});
  }
  if (cluster.nodes > 1) {
    const bool branches = chains && cluster.nodes > 2;
    const double share = tree.network * (branches ? constants.tree_share : 1);
    const double wire = std::min(network_rate(kind, cluster, constants) * share,
                                 connections_rate(choice.channels, cluster));
    const double sent =
        choice.protocol == Protocol::ll
            ? std::min(blocks * constants.ll_share, ll_proxies_rate(choice.channels, cluster))
            : blocks;
    path.network_rate = std::min(wire * path.payload, sent);
  }
  if (chains && choice.protocol != Protocol::ll) {
    const bool simple = choice.protocol == Protocol::simple;
    const double reduced = (simple ? tree.simple_gbps : tree.ll128_gbps) * 1e9 * choice.channels;
    if (cluster.gpus_per_node > 1)
      path.local_rate = std::min(path.local_rate, reduced * chain_traffic(cluster.gpus_per_node));
    if (cluster.nodes > 1)
      path.network_rate = std::min(path.network_rate, reduced * tree_traffic(cluster.nodes));
  }
  obey_wires(path, kind, choice, cluster, constants);
  return path;
}

double rate_of_messages(const Path& path, const CollectiveChoice& choice, double message,
                        const Cluster& cluster, double busy) {
  if (cluster.nodes <= 1) return path.network_rate;
  const double connections = connections_rate(
      choice.channels, cluster,
      choice.protocol == Protocol::simple ? message : std::numeric_limits<double>::infinity());
  return std::min(path.network_rate, connections * busy * path.payload);
}

double network_hop_us(const CollectiveChoice& choice, double message, const Cluster& cluster) {
  const PathConstants constants = constants_of(cluster);
  // The change from eager messages to rendezvous is spread over three powers of two.
  constexpr double kEager = 8 * 1024;
  const std::size_t p = at(choice.protocol);
  const double on_wire = std::max(message / kPayload[p], 1.0);
  double rendezvous = on_wire <= kEager ? 0 : 1;
  if (on_wire > kEager && on_wire < 8 * kEager) rendezvous = elementary::log2(on_wire / kEager) / 3;
  double growth = 0;
  if (choice.protocol != Protocol::simple) {
    const double octave = elementary::log2(on_wire);
    for (std::size_t i = 0; i < constants.hop_growth.size(); ++i)
      growth +=
          constants.hop_growth[i] *
          std::clamp((octave - kHopGrowth[i]) / (kHopGrowth[i + 1] - kHopGrowth[i]), 0.0, 1.0);
  }
  const bool simple_tree =
      choice.algorithm == Algorithm::tree && choice.protocol == Protocol::simple;
  const double shorter = simple_tree ? tree_factors(cluster).simple_hop : 1;
  return constants.hop_us[p] * shorter * elementary::exp(growth) +
         rendezvous * constants.rendezvous_us + constants.channel_us * (choice.channels - 1);
}

int tree_depth(int nodes) {
  int depth = 0;
  while ((std::int64_t{1} << depth) < nodes) ++depth;
  return depth;
}

double chain_traffic(int gpus_per_node) {
  return std::clamp(gpus_per_node - 1, 0, 2);
}

double tree_traffic(int nodes) {
  if (nodes <= 1) return 0;
  return nodes == 2 ? 1 : nodes == 3 ? 1.5 : 2;
}

double wire_share(LinkKind kind, const Cluster& cluster) {
  return wire_share(kind, cluster, constants_of(cluster));
}

}  // namespace ddpsim
