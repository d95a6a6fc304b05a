// A node drawn from the few words of a cluster line or file.
#pragma once

#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"

namespace ddpsim {

/// Of a graph that somebody describes: no node comes near.
inline constexpr std::size_t kMostVertices = 1024;

/// The whole node as described, all GPUs of the layout.
NodeGraph wire_node(const NodeDescription& node);

/// The node with `kept` GPUs only, the first of each of its hosts; what hung on the others stays, unconnected to them.
NodeGraph keep_gpus(const NodeGraph& graph, int kept, int hosts = 1);

/// A wired node whose GPUs, the first vertices, are joined by the NVLinks (xGMI) that `node` states.
NodeGraph with_nvlinks(NodeGraph graph, const NodeDescription& node);

/// Gives the slot of every GPU this rate.
void set_gpu_slots(NodeGraph& graph, Bandwidth rate);

/// Gives this rate to the NIC ports without one, or to all where each has one. A node without any NIC gets `count` of them, spread
/// over its PCIe switches, or its CPUs where there are none. False when there are NICs, but not
/// `count` of them (0: any number will do).
bool set_nics(NodeGraph& graph, int count, Bandwidth rate);

/// NCCL's figure for the link between two CPUs, GB/s per direction.
double cpu_link_rate(CpuVendor vendor);
/// Nominal rate of such a link by NCCL's figure for it, which is what GPUs were once seen to get: at least two QPI links
/// of 9.6 GT/s. (Eight A100 drew 14.9 GB/s through a link that NCCL counts as 10 or 16, eight RTX 5090 28 of 22.)
double cpu_link_nominal(double nccl);

}  // namespace ddpsim
