// Switches between nodes: the switch of each NIC, and the routes between switches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/topologies/topology.hpp"

namespace ddpsim {

/// A cable between two switches, with the same rate in both directions.
struct Trunk {
  std::uint32_t below = 0;
  std::uint32_t above = 0;
  Bandwidth bandwidth;  ///< one direction
};

struct NetworkGraph {
  std::vector<std::string> switches;
  std::vector<Trunk> trunks;
  /// For each node and NIC, the switch of its port. Nodes may have different numbers of NICs.
  std::vector<std::vector<std::uint32_t>> ports;
};

/// `nic_rates` holds the rate of each NIC for each node.
NetworkGraph draw_network(const SwitchPlan& plan,
                          const std::vector<std::vector<Bandwidth>>& nic_rates);

/// Shortest routes between switches: up as far as needed, then down. If several switches above are
/// equally good, `spread` selects one; equal values select the same route.
class SwitchRoutes {
 public:
  explicit SwitchRoutes(const NetworkGraph& network);

  /// Trunk t has the number 2t upwards and 2t + 1 downwards.
  std::vector<std::uint32_t> route(std::uint32_t from, std::uint32_t to,
                                   std::uint32_t spread) const;

 private:
  std::vector<Trunk> trunks_;
  std::vector<std::vector<std::uint32_t>> up_;  ///< by switch: trunks to the switches above
  std::vector<int> level_;                      ///< by switch: steps to the top
};

}  // namespace ddpsim
