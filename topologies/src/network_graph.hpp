// Switches between nodes: who hangs where, and the routes between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ddpsim/topologies/topology.hpp"

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

/// Shortest ways between switches: up as far as needed, then down. Of several switches above, which
/// are equally good, `spread` chooses: equal numbers, equal ways.
class SwitchRoutes {
 public:
  explicit SwitchRoutes(const NetworkGraph& network);

  /// Trunk t is 2t on the way up, 2t + 1 on the way down.
  std::vector<std::uint32_t> route(std::uint32_t from, std::uint32_t to,
                                   std::uint32_t spread) const;

 private:
  std::vector<Trunk> trunks_;
  std::vector<std::vector<std::uint32_t>> up_;  ///< by switch: trunks to those above
  std::vector<int> level_;                      ///< by switch: steps to the top
};

}  // namespace ddpsim
