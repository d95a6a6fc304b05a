#include "ddpsim/sim/values/link_loads.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ddpsim/sim/values/cluster.hpp"

namespace ddpsim {
namespace {

/// Counts the hops over every link as channels are added. Links of one kind and rate count as one
/// group, for which only the busiest link matters.
class Crossings {
 public:
  explicit Crossings(const Fabric& fabric) : fabric_(fabric) {
    passed_.reserve(fabric.links.size());
    for (const Link& link : fabric.links) passed_.push_back({.equal = equal_to(link)});
  }

  void add(Route route, bool between_nodes) {
    for (const LinkId link : fabric_.links_of(route)) {
      Passed& passed = passed_[link];
      ++passed.hops;
      (between_nodes ? passed.network : passed.local) = true;
      EqualLinks& busiest = equal_links_[passed.equal];
      if (passed.local) busiest.local = std::max(busiest.local, passed.hops);
      if (passed.network) busiest.network = std::max(busiest.network, passed.hops);
    }
  }

  LinkLoad load(std::size_t channels) const {
    LinkLoad load;
    for (const EqualLinks& links : equal_links_) {
      const auto busy = [&](std::uint32_t hops) {
        return hops / static_cast<double>(channels) / links.bandwidth.bytes_per_second();
      };
      const auto kind = static_cast<std::size_t>(links.kind);
      if (links.local > 0) load.local[kind] = std::max(load.local[kind], busy(links.local));
      if (links.network > 0) load.network[kind] = std::max(load.network[kind], busy(links.network));
    }
    return load;
  }

 private:
  struct Passed {
    std::uint32_t hops = 0;  ///< local or between nodes
    std::uint32_t equal = 0;
    bool local = false;
    bool network = false;
  };
  struct EqualLinks {
    LinkKind kind;
    Bandwidth bandwidth;
    /// Largest number of hops over one link that also carries local hops.
    std::uint32_t local = 0;
    /// Largest number of hops over one link that also carries hops between nodes.
    std::uint32_t network = 0;
  };

  std::uint32_t equal_to(const Link& link) {
    const auto known = std::ranges::find_if(equal_links_, [&](const EqualLinks& links) {
      return links.kind == link.kind && links.bandwidth == link.bandwidth;
    });
    const auto index = static_cast<std::uint32_t>(known - equal_links_.begin());
    if (known == equal_links_.end()) equal_links_.push_back({link.kind, link.bandwidth});
    return index;
  }

  const Fabric& fabric_;
  std::vector<Passed> passed_;
  std::vector<EqualLinks> equal_links_;
};

void add_ring(const RingChannel& ring, std::uint32_t gpus, Crossings& crossings) {
  for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
    const std::uint32_t next = ring.ranks[(i + 1) % ring.ranks.size()];
    crossings.add(ring.to_next[i], ring.ranks[i] / gpus != next / gpus);
  }
}

void add_tree(const TreeChannel& tree, std::uint32_t gpus, Crossings& crossings) {
  for (std::uint32_t rank = 0; rank < tree.parent.size(); ++rank) {
    if (tree.parent[rank] == rank) continue;
    const bool between_nodes = rank / gpus != tree.parent[rank] / gpus;
    crossings.add(tree.up[rank], between_nodes);
    crossings.add(tree.down[rank], between_nodes);
  }
}

void add_switched(const Fabric& fabric, Crossings& crossings) {
  for (const SwitchChannel& channel : fabric.switched) {
    for (std::size_t rank = 0; rank < fabric.to_switch.size(); ++rank) {
      crossings.add(fabric.to_switch[rank], false);
      crossings.add(fabric.from_switch[rank], false);
    }
    for (std::size_t node = 0; node < channel.heads.size(); ++node) {
      crossings.add(fabric.to_switch[channel.heads[node]], false);
      crossings.add(fabric.from_switch[channel.heads[node]], false);
      if (channel.parent[node] == node) continue;
      crossings.add(channel.up[node], true);
      crossings.add(channel.down[node], true);
    }
  }
}

}  // namespace

std::optional<ChannelShape> channel_shape(Algorithm algorithm, int nodes) {
  switch (algorithm) {
    case Algorithm::ring:
      return ChannelShape::ring;
    case Algorithm::tree:
      return ChannelShape::tree;
    case Algorithm::nvls:
      if (nodes == 1) return ChannelShape::in_switch;
      break;
    case Algorithm::nvls_tree:
      return ChannelShape::in_switch;
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      break;
  }
  return std::nullopt;
}

const LinkLoad& LinkLoads::of(ChannelShape shape, int channels) const {
  static constexpr LinkLoad kNothing;
  const std::vector<LinkLoad>& known = by_channels[static_cast<std::size_t>(shape)];
  if (known.empty()) return kNothing;
  return known[std::min(known.size(), static_cast<std::size_t>(std::max(1, channels))) - 1];
}

Bandwidth most_busbw(ChannelShape shape, const Cluster& cluster, std::optional<int> channels) {
  const LinkLoads& loads = *cluster.loads;
  return most_busbw(shape, loads, cluster.ranks(), channels.value_or(loads.laid_out));
}

Bandwidth most_busbw(ChannelShape shape, const LinkLoads& loads, int all_ranks, int channels) {
  const LinkLoad& load = loads.of(shape, channels);
  const double busy = std::max(*std::max_element(load.local.begin(), load.local.end()),
                               *std::max_element(load.network.begin(), load.network.end()));
  const double ranks = all_ranks;
  // A hop of a ring sends the bytes that bus bandwidth counts; a hop of a tree sends S.
  const double counted = shape == ChannelShape::ring ? 1 : 2 * (ranks - 1) / ranks;
  return Bandwidth::bytes_per_second(busy > 0 ? counted / busy : 0);
}

Bandwidth trunk_rate(const Cluster& cluster) {
  double busy = 0;
  if (cluster.loads != nullptr)
    busy = cluster.loads->of(ChannelShape::ring, cluster.loads->laid_out)
               .network[static_cast<std::size_t>(LinkKind::network)];
  return Bandwidth::bytes_per_second(busy > 0 ? 1 / busy : std::numeric_limits<double>::infinity());
}

LinkLoads link_loads(const Fabric& fabric, int gpus_per_node) {
  const auto gpus = static_cast<std::uint32_t>(std::max(1, gpus_per_node));
  LinkLoads loads;
  loads.laid_out = static_cast<int>(fabric.rings.size());
  Crossings rings(fabric);
  Crossings trees(fabric);
  for (std::size_t c = 0; c < std::size_t{kMostChannels}; ++c) {
    if (!fabric.rings.empty()) {
      add_ring(fabric.rings[c % fabric.rings.size()], gpus, rings);
      loads.by_channels[0].push_back(rings.load(c + 1));
    }
    if (!fabric.trees.empty()) {
      add_tree(fabric.trees[c % fabric.trees.size()], gpus, trees);
      loads.by_channels[1].push_back(trees.load(c + 1));
    }
  }
  if (!fabric.switched.empty()) {
    Crossings switched(fabric);
    add_switched(fabric, switched);
    loads.by_channels[2].push_back(switched.load(fabric.switched.size()));
  }
  return loads;
}

}  // namespace ddpsim
