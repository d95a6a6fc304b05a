// How many rings fit on direct NVLinks, by counting edge-disjoint Hamiltonian cycles.
#pragma once

#include "description.hpp"

namespace ddpsim {

/// Directed rings through GPUs 0..kept-1 of a node of `total` GPUs when every hop takes `width`
/// parallel links for itself. A link carries one ring in each direction.
int directed_rings(const InterconnectDescription& interconnect, int total, int kept, int width);

/// The largest number of links between two GPUs: no wider hop exists.
int widest_hop(const InterconnectDescription& interconnect, int total);

}  // namespace ddpsim
