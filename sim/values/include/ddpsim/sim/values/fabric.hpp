// The links of a cluster as plain numbers: directed links with bandwidth and latency, and the
// routes that NCCL's channels take over them. `topologies` computes the routes once and writes
// this; the flow network only reads it. No graph and no names are needed to simulate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

using LinkId = std::uint32_t;

enum class LinkKind : std::uint8_t { nvlink, pcie, socket, nic, network };
inline constexpr std::size_t kLinkKinds = 5;

/// One direction of a cable. A cable is two links.
struct Link {
  LinkKind kind = LinkKind::nvlink;
  Bandwidth bandwidth;  ///< nominal, in this direction
  /// Propagation and switching. What the protocol takes per hop comes on top.
  Duration latency;
  std::string name;  ///< for people: "gpu0 > nvswitch"
};

/// Links in the order in which data pass them: a slice of Fabric::route_links.
struct Route {
  std::uint32_t first = 0;
  /// 0: both ends are the same place, and no link is used.
  std::uint32_t count = 0;
};

/// One ring: ranks in ring order, and the route from each to its successor.
struct RingChannel {
  std::vector<std::uint32_t> ranks;
  /// By position in the ring; the last route leads back to the first rank.
  std::vector<Route> to_next;
};

/// One tree, indexed by rank: the parent and the routes to and from it. The root is its own parent.
struct TreeChannel {
  std::vector<std::uint32_t> parent;
  std::vector<Route> up;
  std::vector<Route> down;
};

/// A channel through NVSwitches. One head in every node lets its NVSwitch add up a share of the
/// data, and a tree joins the heads. Indexed by node; the root is its own parent.
struct SwitchChannel {
  std::vector<std::uint32_t> heads;  ///< ranks of the heads
  std::vector<std::uint32_t> parent;
  std::vector<Route> up;
  std::vector<Route> down;
};

struct Fabric {
  std::vector<Link> links;
  std::vector<LinkId> route_links;
  std::vector<RingChannel> rings;
  std::vector<TreeChannel> trees;
  std::vector<SwitchChannel> switched;  ///< channels of NVLS and NVLSTree
  /// Route from each rank to the NVSwitch of its node. Empty if `switched` is.
  std::vector<Route> to_switch;
  std::vector<Route> from_switch;

  std::span<const LinkId> links_of(Route route) const {
    return std::span(route_links).subspan(route.first, route.count);
  }
};

}  // namespace ddpsim
