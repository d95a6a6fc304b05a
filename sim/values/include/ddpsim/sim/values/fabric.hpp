// The wires, sealed: directed links with capacity and latency, and the routes NCCL's channels take
// over them. `topologies` computes routes once and writes this; the flow network only reads it.
// Pure numbers: no graph, no names needed to simulate.
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

/// One direction of a wire; both directions of a cable are two links.
struct Link {
  LinkKind kind = LinkKind::nvlink;
  Bandwidth bandwidth;  ///< nominal, of this direction
  Duration latency;     ///< propagation and switching, beside what the protocol takes per hop
  std::string name;     ///< for people: "gpu0 > nvswitch"
};

/// Links passed one after the other; a slice of Fabric::route_links.
struct Route {
  std::uint32_t first = 0;
  std::uint32_t count = 0;  ///< 0: both ends are one place, no link is passed
};

/// One ring: ranks in ring order, and the route from each to its successor.
struct RingChannel {
  std::vector<std::uint32_t> ranks;
  std::vector<Route> to_next;  ///< by position; the last leads back to the first
};

/// One tree: by rank, its parent and the routes to and from it. The root is its own parent.
struct TreeChannel {
  std::vector<std::uint32_t> parent;
  std::vector<Route> up;
  std::vector<Route> down;
};

/// One head in every node, which has its NVSwitch add up a share of the data, and the tree that joins the heads. All by
/// node; the root is its own parent.
struct SwitchChannel {
  std::vector<std::uint32_t> heads;  ///< their ranks
  std::vector<std::uint32_t> parent;
  std::vector<Route> up;
  std::vector<Route> down;
};

struct Fabric {
  std::vector<Link> links;
  std::vector<LinkId> route_links;
  std::vector<RingChannel> rings;
  std::vector<TreeChannel> trees;
  std::vector<SwitchChannel> switched;  ///< of NVLS and NVLSTree
  std::vector<Route>
      to_switch;  ///< from each rank to the NVSwitch of its node, where there are `switched`
  std::vector<Route> from_switch;

  std::span<const LinkId> links_of(Route route) const {
    return std::span(route_links).subspan(route.first, route.count);
  }
};

}  // namespace ddpsim
