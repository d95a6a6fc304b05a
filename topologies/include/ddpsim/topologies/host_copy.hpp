// Rate at which each GPU copies from host memory while all GPUs of the node do so.
#pragma once

#include <optional>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// Share of PCIe's rate after coding that a copy of pinned memory reaches: 11 of 15.75 GB/s,
/// measured in gloo's copies.
inline constexpr double kCopyShare = 0.7;

/// Nominal rate from the nearest CPU to the slowest GPU, if each wire is shared by all GPUs that
/// use it. Absent if no GPU of the graph is connected to a CPU by wires with a rate.
std::optional<Bandwidth> way_to_host(const NodeGraph& node);
/// Rate of a copy of pinned memory on that path.
std::optional<Bandwidth> host_copy_rate(const NodeGraph& node);
/// The lowest rate over all types of node.
std::optional<Bandwidth> host_copy_rate(const Topology& topology);

}  // namespace ddpsim
