// Fabrics built by hand, for tests that need links and routes but no cluster file.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/fabric.hpp"
#include "flow_planner.hpp"

namespace ddpsim::fabrics {

class Builder {
 public:
  LinkId link(LinkKind kind, Bandwidth bandwidth, Duration latency = {}, std::string name = {}) {
    fabric.links.push_back({kind, bandwidth, latency, std::move(name)});
    return static_cast<LinkId>(fabric.links.size() - 1);
  }
  Route route(const std::vector<LinkId>& links) {
    const Route route{static_cast<std::uint32_t>(fabric.route_links.size()),
                      static_cast<std::uint32_t>(links.size())};
    fabric.route_links.insert(fabric.route_links.end(), links.begin(), links.end());
    return route;
  }
  Fabric fabric;
};

/// Rank i has one link to rank i + 1, the last to the first.
inline Fabric ring(std::uint32_t ranks, Bandwidth bandwidth, Duration latency,
                   LinkKind kind = LinkKind::network) {
  Builder builder;
  RingChannel channel;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    channel.ranks.push_back(rank);
    channel.to_next.push_back(builder.route({builder.link(kind, bandwidth, latency)}));
  }
  builder.fabric.rings.push_back(channel);
  return builder.fabric;
}

/// Hosts under leaf switches under spines, a cable each: `up`[leaf][spine] and `down`[spine][leaf].
struct LeafSpine {
  Builder builder;
  std::uint32_t hosts_per_leaf;
  std::vector<LinkId> out;  ///< by host, to its leaf
  std::vector<LinkId> in;
  std::vector<std::vector<LinkId>> up;
  std::vector<std::vector<LinkId>> down;

  LeafSpine(std::uint32_t hosts, std::uint32_t per_leaf, std::uint32_t spines, Bandwidth bandwidth,
            Duration latency)
      : hosts_per_leaf(per_leaf) {
    const auto link = [&] { return builder.link(LinkKind::network, bandwidth, latency); };
    for (std::uint32_t host = 0; host < hosts; ++host) {
      out.push_back(link());
      in.push_back(link());
    }
    const std::uint32_t leaves = (hosts + per_leaf - 1) / per_leaf;
    up.resize(leaves);
    down.resize(spines);
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
      for (std::uint32_t spine = 0; spine < spines; ++spine) {
        up[leaf].push_back(link());
        down[spine].push_back(link());
      }
  }

  /// Across leaves by the spine of the destination.
  std::vector<LinkId> path(std::uint32_t from, std::uint32_t to) const {
    const std::uint32_t a = from / hosts_per_leaf;
    const std::uint32_t b = to / hosts_per_leaf;
    if (a == b) return {out[from], in[to]};
    const std::size_t spine = to % down.size();
    return {out[from], up[a][spine], down[spine][b], in[to]};
  }

  /// One ring over the hosts in this order.
  RingChannel ring(const std::vector<std::uint32_t>& hosts) {
    RingChannel channel{.ranks = hosts, .to_next = {}};
    for (std::size_t i = 0; i < hosts.size(); ++i)
      channel.to_next.push_back(builder.route(path(hosts[i], hosts[(i + 1) % hosts.size()])));
    return channel;
  }
};

/// Parents in the tree over 0..n-1 that NCCL builds: bit by bit. The second one is the first
/// mirrored, or for an odd n shifted by one, so that what is inside one is a leaf of the other.
inline std::vector<std::uint32_t> binary_tree(std::uint32_t n, bool second) {
  std::vector<std::uint32_t> parent(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    std::uint32_t bit = 1;
    while (bit < n && (i & bit) == 0) bit <<= 1;
    std::uint32_t up = (i ^ bit) | (bit << 1);
    if (up >= n) up = i ^ bit;
    parent[i] = i == 0 ? 0 : up;
  }
  if (!second) return parent;
  const auto renamed = [&](std::uint32_t i) { return n % 2 == 1 ? (i + 1) % n : n - 1 - i; };
  std::vector<std::uint32_t> other(n);
  for (std::uint32_t i = 0; i < n; ++i) other[renamed(i)] = renamed(parent[i]);
  return other;
}

/// GPUs of a node behind a switch, nodes behind one fabric switch by all their NICs as one link.
/// `channels` rings in rank order and as many trees, NCCL's two in turn, a chain inside each node.
inline Fabric switched(const Cluster& cluster, int channels) {
  Builder builder;
  const auto gpus = static_cast<std::uint32_t>(cluster.gpus_per_node);
  const auto nodes = static_cast<std::uint32_t>(cluster.nodes);
  const LinkKind local = cluster.intra.kind == IntraKind::pcie ? LinkKind::pcie : LinkKind::nvlink;
  std::vector<LinkId> gpu_out, gpu_in, nic_out, nic_in;
  for (std::uint32_t rank = 0; rank < gpus * nodes; ++rank) {
    gpu_out.push_back(builder.link(local, cluster.intra.per_gpu));
    gpu_in.push_back(builder.link(local, cluster.intra.per_gpu));
  }
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const Bandwidth nics = cluster.network.per_nic * cluster.network.nics_per_node;
    nic_out.push_back(builder.link(LinkKind::nic, nics));
    nic_in.push_back(builder.link(LinkKind::nic, nics));
  }
  const auto route = [&](std::uint32_t from, std::uint32_t to) {
    return from / gpus == to / gpus ? builder.route({gpu_out[from], gpu_in[to]})
                                    : builder.route({nic_out[from / gpus], nic_in[to / gpus]});
  };
  for (int c = 0; c < channels; ++c) {
    RingChannel ring;
    TreeChannel tree;
    const std::vector<std::uint32_t> node_parent = binary_tree(nodes, c % 2 == 1);
    for (std::uint32_t rank = 0; rank < gpus * nodes; ++rank) {
      ring.ranks.push_back(rank);
      ring.to_next.push_back(route(rank, (rank + 1) % (gpus * nodes)));
      const std::uint32_t parent = rank % gpus == 0 ? node_parent[rank / gpus] * gpus : rank - 1;
      tree.parent.push_back(parent);
      tree.up.push_back(parent == rank ? Route{} : route(rank, parent));
      tree.down.push_back(parent == rank ? Route{} : route(parent, rank));
    }
    builder.fabric.rings.push_back(ring);
    builder.fabric.trees.push_back(tree);
  }
  return builder.fabric;
}

/// The planner of a flow model on a cluster with these wires.
inline FlowPlanner planner(const Cluster& cluster, Fabric fabric,
                           const Background& background = {}) {
  return {std::make_shared<const Cluster>(cluster),
          std::make_shared<const Fabric>(std::move(fabric)), background};
}

}  // namespace ddpsim::fabrics
