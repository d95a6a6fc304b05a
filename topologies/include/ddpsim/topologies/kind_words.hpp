// What cluster files and documents call the kinds of things a cluster is made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

std::string_view kind_word(VertexKind kind);  ///< "pcie-switch"
/// "ib"; sockets: "tcp", "tcp-vm" (through a NIC that the hypervisor emulates), "tcpx"
/// (GPUDirect-TCPX, -TCPXO).
std::string_view kind_word(const Network& network);
std::string_view kind_word(IntraKind kind, GpuVendor vendor);  ///< "nvswitch"; AMD's nvlink: "xgmi"
/// Of direct links, in sentences: "NVLink", "xGMI".
std::string_view direct_links(GpuVendor vendor);
/// The other way: kind and sockets of the word; false where there is no such network.
bool name_network(const std::string& word, Network& network);
std::vector<std::string> network_kind_words();
/// What is assumed of each TCP connection where no log of the cluster stands behind it; empty where
/// nothing is.
std::string_view assumed_of_connections(const Cluster& cluster);
/// Where an oversubscribed network does not say who hangs where; empty elsewhere.
std::string_view assumed_of_leaves(const Cluster& cluster);
/// How GPUs reach each other over PCIe, where nobody said; empty elsewhere, and where a log stands behind it.
std::string assumed_of_peers(const Cluster& cluster);
/// How many GPUs are taken to share a root port, where all go through host memory and nobody says it.
std::string assumed_of_roots(const Cluster& cluster);
/// Whether NICs reach GPU memory, where nobody said and it decides; empty elsewhere, and where a log stands behind it.
std::string assumed_of_gpudirect(const Cluster& cluster);
std::string_view kind_word(PeerAccess peers);  ///< "no-p2p"
/// What AMD's GPUs borrow from NVIDIA's, to be said in every answer; empty where the cluster has none.
std::string assumed_of_amd(const Cluster& cluster);
/// Which variant was taken where the GPU's name leaves it open; empty where it does not.
std::string assumed_of_variant(const GpuModel& gpu);

}  // namespace ddpsim
