#include "ddpsim/topologies/kind_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/sim/nccl/nccl.hpp"

namespace ddpsim {

std::string_view kind_word(VertexKind kind) {
  switch (kind) {
    case VertexKind::gpu:
      return "gpu";
    case VertexKind::nvswitch:
      return "nvswitch";
    case VertexKind::pcie_switch:
      return "pcie-switch";
    case VertexKind::cpu:
      return "cpu";
    case VertexKind::nic:
      return "nic";
  }
  return "";
}

std::string_view kind_word(const Network& network) {
  switch (network.kind) {
    case NetworkKind::none:
      return "none";
    case NetworkKind::infiniband:
      return "ib";
    case NetworkKind::roce:
      return "roce";
    case NetworkKind::tcp:
      if (network.sockets == Sockets::virtual_nic) return "tcp-vm";
      return network.sockets == Sockets::gpudirect ? "tcpx" : "tcp";
    case NetworkKind::efa:
      return "efa";
    case NetworkKind::slingshot:
      return "slingshot";
  }
  return "";
}

std::string_view assumed_of_connections(const Cluster& cluster) {
  const Network& network = cluster.network;
  if (cluster.calibration || cluster.nodes == 1 || !through_sockets(network) ||
      network.sockets != Sockets::virtual_nic || network.connection)
    return "";
  return "tcp-vm: each TCP connection is taken for 5 Gb/s, one cloud's documented limit; the one "
         "open log says 3.3 to 3.9";
}

std::string_view assumed_of_leaves(const Cluster& cluster) {
  if (cluster.loads_scattered != nullptr)
    return "nobody says how ranks lie on the leaves: it is assumed that neighbours share a leaf "
           "(placement:ordered says so; the interval reaches to placement:scattered, where they do "
           "not), and that no other job sends there (--background)";
  if (cluster.loads_under_one_leaf == nullptr) return "";
  return "which nodes share a leaf is not said: each is taken to have its own, so that all it "
         "sends is oversubscribed (leaf:NODES says how many share one; the interval reaches to all "
         "under one, where nothing is). No other job is taken to send there (--background)";
}

std::string assumed_of_peers(const Cluster& cluster) {
  const Interconnect& intra = cluster.intra;
  if (cluster.calibration || intra.kind != IntraKind::pcie || !intra.peers_assumed) return "";
  if (intra.peers == PeerAccess::host)
    return fmt::format(
        "{}: NVIDIA's driver keeps GeForce cards from reaching each other over PCIe, so all is "
        "taken to go through host memory; the interval also holds what peer to peer would do "
        "(pcie:BW:p2p where a driver allows it, pcie:BW:no-p2p where it does not)",
        cluster.gpu.name);
  const std::string_view usual = intra.peers == PeerAccess::one_root
                                     ? "they do, all being under one root port"
                                     : "they do under one root port, and go through host memory "
                                       "between root ports";
  return fmt::format(
      "nobody says whether GPUs reach each other directly over PCIe (peer to peer): it is assumed "
      "that {}; the interval goes from peer to peer everywhere to host memory everywhere, which is "
      "far slower (pcie:BW:p2p, pcie:BW:p2p-sockets or pcie:BW:no-p2p says which; see `nvidia-smi "
      "topo -p2p r`)",
      usual);
}

std::string assumed_of_roots(const Cluster& cluster) {
  const Interconnect& intra = cluster.intra;
  if (cluster.calibration || intra.kind != IntraKind::pcie || !intra.roots_assumed ||
      intra.peers != PeerAccess::host || !(intra.per_gpu > Bandwidth()))
    return "";
  const double sharing = intra.per_gpu / intra.to_host;
  return fmt::format(
      "{}; GPUs that share one share its rate (root:GPUS says how many do; the interval goes from "
      "one to {})",
      sharing > 1 ? fmt::format("{:.0f} GPUs are taken to share each root port", sharing)
                  : "each GPU is taken to have a root port of its own",
      std::min(kMostPerRoot, cluster.gpus_per_node));
}

std::string assumed_of_gpudirect(const Cluster& cluster) {
  const Network& network = cluster.network;
  const bool decides = cluster.gpus_per_node <= kFewGpus || !network.gpudirect;
  if (cluster.calibration || cluster.nodes == 1 || !network.gpudirect_assumed || !decides)
    return "";
  return network.gpudirect
             ? "nobody says whether NICs reach GPU memory directly (GPUDirect RDMA): it is assumed "
               "that they do, and the interval also holds what host memory would do (nic:…:gdr "
               "says "
               "that they do, nic:…:no-gdr that they do not)"
             : fmt::format(
                   "{}: GeForce cards have no GPUDirect RDMA, so all is taken to go to the NICs "
                   "through host memory (nic:…:gdr where a driver allows it)",
                   cluster.gpu.name);
}

std::string_view kind_word(PeerAccess peers) {
  switch (peers) {
    case PeerAccess::one_root:
      return "p2p";
    case PeerAccess::sockets:
      return "p2p-sockets";
    case PeerAccess::host:
      return "no-p2p";
  }
  return "";
}

std::string assumed_of_variant(const GpuModel& gpu) {
  if (!gpu.variant_open || gpu.variant.empty()) return "";
  return fmt::format("{} does not say which variant: {} is taken. {}", gpu.name, gpu.variant,
                     gpus_instead_of(gpu.name));
}

std::string assumed_of_amd(const Cluster& cluster) {
  if (cluster.gpu.vendor != GpuVendor::amd) return "";
  return fmt::format(
      "{}: NCCL's tables (those of sm_{}) stand in for RCCL's{}{}", cluster.gpu.name,
      cluster.gpu.compute_capability,
      cluster.calibration ? "" : ", and the cost model was learned on NVIDIA's GPUs",
      cluster.gpu.name == "MI250X"
          ? "; each of the two dies (GCDs) of a card is a GPU, as PyTorch counts them"
          : "");
}

std::string_view direct_links(GpuVendor vendor) {
  return vendor == GpuVendor::amd ? "xGMI" : "NVLink";
}

std::string_view kind_word(IntraKind kind, GpuVendor vendor) {
  switch (kind) {
    case IntraKind::none:
      return "none";
    case IntraKind::nvswitch:
      return "nvswitch";
    case IntraKind::nvlink:
      return vendor == GpuVendor::amd ? "xgmi" : "nvlink";
    case IntraKind::pcie:
      return "pcie";
  }
  return "";
}

bool name_network(const std::string& word, Network& network) {
  for (const NetworkKind kind : {NetworkKind::infiniband, NetworkKind::roce, NetworkKind::tcp,
                                 NetworkKind::efa, NetworkKind::slingshot}) {
    for (const Sockets sockets : {Sockets::host, Sockets::virtual_nic, Sockets::gpudirect}) {
      Network named = network;
      named.kind = kind;
      named.sockets = sockets;
      if (kind_word(named) != word) continue;
      network = named;
      return true;
    }
  }
  return false;
}

std::vector<std::string> network_kind_words() {
  return {"ib", "roce", "tcp", "tcp-vm", "tcpx", "efa", "slingshot"};
}

}  // namespace ddpsim
