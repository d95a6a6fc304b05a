// Draws a node from the few words of a cluster line or file.
#pragma once

#include "ddpsim/topologies/topology.hpp"
#include "description.hpp"

namespace ddpsim {

/// Limit for a graph that a user describes. No real node comes near.
inline constexpr std::size_t kMostVertices = 1024;

/// The whole node as described, with all GPUs of the layout.
NodeGraph wire_node(const NodeDescription& node);

/// The node with only `kept` GPUs, the first of each of its hosts. What was attached to the others
/// stays, without a connection to them.
NodeGraph keep_gpus(const NodeGraph& graph, int kept, int hosts = 1);

/// A wired node whose GPUs are the first vertices, plus the NVLinks (xGMI) that `node` states.
NodeGraph with_nvlinks(NodeGraph graph, const NodeDescription& node);

/// Sets the slot rate of every GPU.
void set_gpu_slots(NodeGraph& graph, Bandwidth rate);

/// Sets the rate of the NIC ports that have none, or of all ports if each has one. A node without
/// NICs gets `count` of them. They are spread over its PCIe switches, or over its CPUs without
/// switches. Returns false if there are NICs but not `count` of them (0: any number is accepted).
bool set_nics(NodeGraph& graph, int count, Bandwidth rate);

/// NCCL's value for the link between two CPUs, in GB/s per direction.
double cpu_link_rate(CpuVendor vendor);
/// Nominal rate of the link between two CPUs, derived from NCCL's value for it. GPUs were once
/// measured to get this rate: at least two QPI links of 9.6 GT/s. Eight A100 reached 14.9 GB/s
/// through a link that NCCL counts as 10 or 16; eight RTX 5090 reached 28 instead of 22.
double cpu_link_nominal(double nccl);

}  // namespace ddpsim
