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
  return "tcp-vm: each TCP connection is assumed to reach 5 Gb/s, the documented limit of one "
         "cloud; the only open log shows 3.3 to 3.9";
}

std::string_view assumed_of_leaves(const Cluster& cluster) {
  if (cluster.loads_scattered != nullptr)
    return "placement: is not stated: neighbouring ranks are assumed to share a leaf. The interval "
           "also covers placement:scattered, where they do not; write placement:ordered to narrow "
           "it. No other job is assumed to use these links (--background)";
  if (cluster.loads_under_one_leaf == nullptr) return "";
  return "leaf: is not stated: each node is assumed to have a leaf of its own, so all its traffic "
         "is oversubscribed. The interval reaches to all nodes under one leaf; write leaf:NODES to "
         "narrow it. No other job is assumed to use these links (--background)";
}

std::string assumed_of_peers(const Cluster& cluster) {
  const Interconnect& intra = cluster.intra;
  if (cluster.calibration || intra.kind != IntraKind::pcie || !intra.peers_assumed) return "";
  if (intra.peers == PeerAccess::host)
    return fmt::format(
        "{}: NVIDIA's driver keeps GeForce cards from reaching each other over PCIe, so all "
        "traffic is assumed to go through host memory. The interval also covers peer to peer; "
        "write pcie:BW:p2p or pcie:BW:no-p2p to narrow it",
        cluster.gpu.name);
  const std::string_view usual =
      intra.peers == PeerAccess::one_root
          ? "all GPUs are under one root port and are assumed to have it"
          : "GPUs under one root port are assumed to have it, and others to use host memory";
  return fmt::format(
      "peer-to-peer access over PCIe is not stated: {}. The interval covers peer to peer "
      "everywhere and host memory everywhere, which is far slower. Write pcie:BW:p2p, "
      "pcie:BW:p2p-sockets or pcie:BW:no-p2p to narrow it (see `nvidia-smi topo -p2p r`)",
      usual);
}

std::string assumed_of_roots(const Cluster& cluster) {
  const Interconnect& intra = cluster.intra;
  if (cluster.calibration || intra.kind != IntraKind::pcie || !intra.roots_assumed ||
      intra.peers != PeerAccess::host || !(intra.per_gpu > Bandwidth()))
    return "";
  const double sharing = intra.per_gpu / intra.to_host;
  return fmt::format(
      "{}. The interval covers one to {} GPUs per port; write root:GPUS to narrow it",
      sharing > 1
          ? fmt::format("{:.0f} GPUs are assumed to share each root port and its rate", sharing)
          : "each GPU is assumed to have a root port of its own",
      std::min(kMostPerRoot, cluster.gpus_per_node));
}

std::string assumed_of_gpudirect(const Cluster& cluster) {
  const Network& network = cluster.network;
  const bool decides = cluster.gpus_per_node <= kFewGpus || !network.gpudirect;
  if (cluster.calibration || cluster.nodes == 1 || !network.gpudirect_assumed || !decides)
    return "";
  return network.gpudirect
             ? "GPUDirect RDMA is not stated: NICs are assumed to reach GPU memory directly. The "
               "interval also covers host memory; write nic:…:gdr or nic:…:no-gdr to narrow it"
             : fmt::format(
                   "{}: GeForce cards have no GPUDirect RDMA, so traffic to the NICs is assumed to "
                   "go through host memory. Write nic:…:gdr if the driver allows it",
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
  return fmt::format("{} does not say which variant: {} is assumed. {}", gpu.name, gpu.variant,
                     gpus_instead_of(gpu.name));
}

std::string assumed_of_amd(const Cluster& cluster) {
  if (cluster.gpu.vendor != GpuVendor::amd) return "";
  return fmt::format("{}: NCCL's tables for sm_{} are used instead of RCCL's{}{}", cluster.gpu.name,
                     cluster.gpu.compute_capability,
                     cluster.calibration ? "" : ". The cost model was fitted to NVIDIA GPUs",
                     cluster.gpu.name == "MI250X"
                         ? ". Each of the two dies (GCDs) of a card counts as a GPU, as in PyTorch"
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
