// Pipelines in which one hop stands for all that are alike, and one link for all that are alike.
//
// Links are alike if they are equally wide and equally many hops of each kind pass them. Hops are
// alike if they belong to one shape, pass alike links and wait for alike hops. So whatever is alike
// begins alike, shares alike and waits alike. It does the same at the same time, to the picosecond,
// and only one of each kind needs to be simulated. In a cluster of equal nodes, most channels and
// the nodes of a ring are alike. Traffic or a degraded link somewhere leaves fewer.
//
// The coarsest such division is found by splitting (Hopcroft 1971; Paige and Tarjan 1987). All
// start as one kind. Whenever members of a kind have different numbers of neighbours in another
// one, the kind is split. The largest part of a kind never has to be looked at again, so n
// neighbours take O(n log n).
#pragma once

#include <span>
#include <vector>

#include "network_links.hpp"

namespace ddpsim {

struct FoldedNetwork {
  NetworkLinks links;
  std::vector<PipelineShape> shapes;  ///< as they were given
};

/// Pipelines of these shapes may run at any times: one pipeline of each shape at a time.
FoldedNetwork fold(std::span<const PipelineShape* const> shapes, const NetworkLinks& links);

}  // namespace ddpsim
