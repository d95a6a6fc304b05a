// Checks that apply to every topology, whatever its source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// Reads a topology, builds its fabric and checks both. Any error but InputError ends the run.
template <typename Read>
int survives(Read read) {
  // Larger fabrics would only take longer.
  constexpr int kMostLaidOut = 512;
  try {
    const Topology topology = read();
    const Cluster& cluster = topology.cluster;
    if (cluster.ranks() < 1 || cluster.ring.channels < 1) __builtin_trap();
    if (!(cluster.ring.intra.bytes_per_second() > 0)) __builtin_trap();
    if (cluster.ranks() > kMostLaidOut) return 0;
    const Fabric fabric = build_fabric(topology);
    for (const RingChannel& ring : fabric.rings) {
      if (ring.ranks.size() != static_cast<std::size_t>(cluster.ranks())) __builtin_trap();
    }
  } catch (const InputError&) {
  }
  return 0;
}

}  // namespace ddpsim
