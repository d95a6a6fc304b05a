#include "ddpsim/topologies/kind_words.hpp"

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

std::string_view kind_word(IntraKind kind) {
  switch (kind) {
    case IntraKind::none:
      return "none";
    case IntraKind::nvswitch:
      return "nvswitch";
    case IntraKind::nvlink:
      return "nvlink";
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
