// Words for the parts of a cluster, as cluster files and documents write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

std::string_view kind_word(VertexKind kind);  ///< "pcie-switch"
/// "ib". For sockets: "tcp", "tcp-vm" (a NIC that the hypervisor emulates), "tcpx" (GPUDirect-TCPX
/// or TCPXO).
std::string_view kind_word(const Network& network);
std::string_view kind_word(IntraKind kind,
                           GpuVendor vendor);  ///< "nvswitch"; for AMD "xgmi" instead of "nvlink"
/// Name of direct links in sentences: "NVLink", "xGMI".
std::string_view direct_links(GpuVendor vendor);
/// Sets the kind and the sockets that `word` names. Returns false if there is no such network.
bool name_network(const std::string& word, Network& network);
std::vector<std::string> network_kind_words();
/// Assumption about the rate of each TCP connection, if no log of the cluster confirms it;
/// otherwise empty.
std::string_view assumed_of_connections(const Cluster& cluster);
/// Assumption about which nodes share a leaf switch, if an oversubscribed network does not say it;
/// otherwise empty.
std::string_view assumed_of_leaves(const Cluster& cluster);
/// Assumption about how GPUs reach each other over PCIe, if the user did not say it and no log
/// confirms it; otherwise empty.
std::string assumed_of_peers(const Cluster& cluster);
/// Assumption about how many GPUs share a root port, if all go through host memory and the user did
/// not say it.
std::string assumed_of_roots(const Cluster& cluster);
/// Assumption whether NICs reach GPU memory, if it matters, the user did not say it and no log
/// confirms it; otherwise empty.
std::string assumed_of_gpudirect(const Cluster& cluster);
std::string_view kind_word(PeerAccess peers);  ///< "no-p2p"
/// Values of AMD GPUs that are taken from NVIDIA's, stated with every answer; empty without AMD
/// GPUs.
std::string assumed_of_amd(const Cluster& cluster);
/// The variant that was assumed if the GPU's name leaves it open; otherwise empty.
std::string assumed_of_variant(const GpuModel& gpu);

}  // namespace ddpsim
