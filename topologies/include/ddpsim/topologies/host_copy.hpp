// What a GPU copies from its host's memory while all GPUs of the node do.
#pragma once

#include <optional>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// Of what PCIe carries after coding, what is left to a copy of pinned memory: 11 of 15.75 GB/s, as gloo's copies take.
inline constexpr double kCopyShare = 0.7;

/// Nominal rate of the GPU that gets least, on its way to the nearest CPU, each wire shared by all GPUs whose way it is;
/// absent: no GPU of the graph hangs on a CPU by wires with a rate.
std::optional<Bandwidth> way_to_host(const NodeGraph& node);
/// The same for a copy of pinned memory.
std::optional<Bandwidth> host_copy_rate(const NodeGraph& node);
/// Over all types of node.
std::optional<Bandwidth> host_copy_rate(const Topology& topology);

}  // namespace ddpsim
