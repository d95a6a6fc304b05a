// Switches between nodes: who hangs where, and the routes between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/topologies/topology.hpp"
#include "shortest_routes.hpp"

namespace ddpsim {

/// A cable between two switches; both directions alike.
struct Trunk {
  std::uint32_t below = 0;
  std::uint32_t above = 0;
  Bandwidth bandwidth;  ///< one direction
};

struct NetworkGraph {
  std::vector<std::string> switches;
  std::vector<Trunk> trunks;
  /// By node and NIC: the switch the port is on; nodes may have different numbers of NICs.
  std::vector<std::vector<std::uint32_t>> ports;
};

/// `nic_rates`: by node, the rate of each NIC.
NetworkGraph draw_network(const SwitchPlan& plan,
                          const std::vector<std::vector<Bandwidth>>& nic_rates);

/// Routes between switches over trunks; arc 2t goes up trunk t, 2t + 1 down.
ShortestRoutes switch_routes(const NetworkGraph& network);

}  // namespace ddpsim
