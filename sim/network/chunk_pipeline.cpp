#include "chunk_pipeline.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

class ShapeBuilder {
 public:
  ShapeBuilder(ChunkDependency dependency, int gpus_per_node)
      : gpus_per_node_(static_cast<std::uint32_t>(std::max(1, gpus_per_node))) {
    shape_.dependency = dependency;
  }

  /// Hops added from now on belong to another channel.
  void begin_channel() { channels_.push_back(static_cast<std::uint32_t>(shape_.hops.size())); }
  std::uint32_t hop(std::uint32_t from, std::uint32_t to, Route route) {
    return hop(route, from / gpus_per_node_ != to / gpus_per_node_);
  }
  std::uint32_t hop(Route route, bool between_nodes) {
    shape_.hops.push_back(
        {.route = route, .between_nodes = between_nodes, .waits_for = {}, .feeds = {}});
    waits_for_.emplace_back();
    return static_cast<std::uint32_t>(shape_.hops.size() - 1);
  }
  void wait(std::uint32_t hop, std::uint32_t for_hop) { waits_for_[hop].push_back(for_hop); }

  PipelineShape build() {
    std::vector<std::vector<std::uint32_t>> feeds(shape_.hops.size());
    for (std::uint32_t hop = 0; hop < waits_for_.size(); ++hop)
      for (const std::uint32_t other : waits_for_[hop]) feeds[other].push_back(hop);
    for (std::size_t hop = 0; hop < shape_.hops.size(); ++hop) {
      shape_.hops[hop].waits_for = store(waits_for_[hop]);
      shape_.hops[hop].feeds = store(feeds[hop]);
    }
    begin_channel();  // marks the end of the last one
    for (std::size_t i = 0; i + 1 < channels_.size(); ++i) {
      const Slice channel{channels_[i], channels_[i + 1] - channels_[i]};
      if (channel.count > 0 && std::ranges::none_of(shape_.unlike_channels, [&](Slice other) {
            return alike(channel, other);
          }))
        shape_.unlike_channels.push_back(channel);
    }
    return std::move(shape_);
  }

 private:
  bool alike(Slice a, Slice b) const {
    if (a.count != b.count) return false;
    for (std::uint32_t i = 0; i < a.count; ++i) {
      const std::uint32_t one = a.first + i;
      const std::uint32_t other = b.first + i;
      if (shape_.hops[one].between_nodes != shape_.hops[other].between_nodes) return false;
      if (!std::ranges::equal(
              waits_for_[one], waits_for_[other], {},
              [&](std::uint32_t hop) { return hop - a.first; },
              [&](std::uint32_t hop) { return hop - b.first; }))
        return false;
    }
    return true;
  }
  Slice store(const std::vector<std::uint32_t>& hops) {
    const auto first = static_cast<std::uint32_t>(shape_.hop_lists.size());
    shape_.hop_lists.insert(shape_.hop_lists.end(), hops.begin(), hops.end());
    return {first, static_cast<std::uint32_t>(hops.size())};
  }

  PipelineShape shape_;
  std::uint32_t gpus_per_node_;
  std::vector<std::uint32_t> channels_;  ///< first hop of each
  std::vector<std::vector<std::uint32_t>> waits_for_;
};

/// NCCL repeats the channels it found, so an index beyond those of the fabric wraps around.
template <typename Channel>
const Channel& channel_of(const std::vector<Channel>& channels, int channel) {
  return channels[static_cast<std::size_t>(channel) % channels.size()];
}

/// Ranks of a tree, each after its parent.
std::vector<std::uint32_t> from_the_root(const TreeChannel& tree) {
  const auto ranks = static_cast<std::uint32_t>(tree.parent.size());
  std::vector<std::vector<std::uint32_t>> children(ranks);
  std::vector<std::uint32_t> order;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (tree.parent[rank] == rank) {
      order.push_back(rank);
    } else {
      children[tree.parent[rank]].push_back(rank);
    }
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    const std::vector<std::uint32_t>& below = children[order[next]];
    order.insert(order.end(), below.begin(), below.end());
  }
  return order;
}

}  // namespace

PipelineShape ring_all_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node) {
  ShapeBuilder builder(ChunkDependency::previous, gpus_per_node);
  for (int channel = 0; channel < channels; ++channel) {
    builder.begin_channel();
    const RingChannel& ring = channel_of(fabric.rings, channel);
    const std::size_t n = ring.ranks.size();
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t hop =
          builder.hop(ring.ranks[i], ring.ranks[(i + 1) % n], ring.to_next[i]);
      if (i == 0) {
        first = hop;
      } else {
        builder.wait(hop, last);
      }
      last = hop;
    }
    if (n > 0) builder.wait(first, last);
  }
  return builder.build();
}

namespace {

/// The ring of each channel without one hop. It starts `behind` ranks after the lowest rank.
PipelineShape opened_rings(const Fabric& fabric, int channels, int gpus_per_node,
                           std::size_t behind) {
  ShapeBuilder builder(ChunkDependency::same, gpus_per_node);
  for (int channel = 0; channel < channels; ++channel) {
    builder.begin_channel();
    const RingChannel& ring = channel_of(fabric.rings, channel);
    const std::size_t n = ring.ranks.size();
    const auto root = static_cast<std::size_t>(
        std::min_element(ring.ranks.begin(), ring.ranks.end()) - ring.ranks.begin());
    std::uint32_t before = 0;
    for (std::size_t step = 0; step + 1 < n; ++step) {
      const std::size_t i = (root + behind + step) % n;
      const std::uint32_t hop =
          builder.hop(ring.ranks[i], ring.ranks[(i + 1) % n], ring.to_next[i]);
      if (step > 0) builder.wait(hop, before);
      before = hop;
    }
  }
  return builder.build();
}

}  // namespace

PipelineShape ring_broadcast_shape(const Fabric& fabric, int channels, int gpus_per_node) {
  return opened_rings(fabric, channels, gpus_per_node, 0);
}

PipelineShape ring_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node) {
  return opened_rings(fabric, channels, gpus_per_node, 1);
}

PipelineShape send_recv_shape(const Fabric& fabric, int channels, int gpus_per_node) {
  ShapeBuilder builder(ChunkDependency::same, gpus_per_node);
  const RingChannel& ring = fabric.rings.front();
  for (int channel = 0; channel < channels; ++channel) {
    builder.begin_channel();
    for (std::size_t i = 0; i < ring.ranks.size(); ++i)
      builder.hop(ring.ranks[i], ring.ranks[(i + 1) % ring.ranks.size()], ring.to_next[i]);
  }
  return builder.build();
}

PipelineShape tree_all_reduce_shape(const Fabric& fabric, int channels, int gpus_per_node) {
  ShapeBuilder builder(ChunkDependency::same, gpus_per_node);
  for (int channel = 0; channel < channels; ++channel) {
    builder.begin_channel();
    const TreeChannel& tree = channel_of(fabric.trees, channel);
    const std::vector<std::uint32_t> order = from_the_root(tree);
    std::vector<std::uint32_t> up(order.size());
    std::vector<std::uint32_t> down(order.size());
    std::vector<std::vector<std::uint32_t>> arriving(order.size());  // up hops, by rank reached
    for (std::size_t i = order.size(); i-- > 1;) {
      const std::uint32_t rank = order[i];
      const std::uint32_t parent = tree.parent[rank];
      up[rank] = builder.hop(rank, parent, tree.up[rank]);
      for (const std::uint32_t hop : arriving[rank]) builder.wait(up[rank], hop);
      arriving[parent].push_back(up[rank]);
    }
    for (std::size_t i = 1; i < order.size(); ++i) {
      const std::uint32_t rank = order[i];
      const std::uint32_t parent = tree.parent[rank];
      down[rank] = builder.hop(parent, rank, tree.down[rank]);
      if (parent != order[0]) {
        builder.wait(down[rank], down[parent]);
      } else {
        for (const std::uint32_t hop : arriving[parent]) builder.wait(down[rank], hop);
      }
    }
  }
  return builder.build();
}

namespace {

/// Nodes, each after its parent.
std::vector<std::uint32_t> nodes_from_the_root(const SwitchChannel& channel) {
  return from_the_root({channel.parent, {}, {}});
}

/// Hops of one channel in one node: from every GPU to the switch, and the sum to the head. Returns
/// the last one.
std::uint32_t sum_in_node(ShapeBuilder& builder, const Fabric& fabric, std::uint32_t first_rank,
                          std::uint32_t gpus, std::uint32_t head) {
  std::vector<std::uint32_t> sent;
  for (std::uint32_t rank = first_rank; rank < first_rank + gpus; ++rank)
    sent.push_back(builder.hop(fabric.to_switch[rank], false));
  const std::uint32_t sum = builder.hop(fabric.from_switch[head], false);
  for (const std::uint32_t hop : sent) builder.wait(sum, hop);
  return sum;
}

/// Hops from the head, which waits for `waits_for`, to all GPUs.
void send_in_node(ShapeBuilder& builder, const Fabric& fabric, std::uint32_t first_rank,
                  std::uint32_t gpus, std::uint32_t head,
                  const std::vector<std::uint32_t>& waits_for) {
  const std::uint32_t result = builder.hop(fabric.to_switch[head], false);
  for (const std::uint32_t hop : waits_for) builder.wait(result, hop);
  for (std::uint32_t rank = first_rank; rank < first_rank + gpus; ++rank)
    builder.wait(builder.hop(fabric.from_switch[rank], false), result);
}

void add_switch_channel(ShapeBuilder& builder, const Fabric& fabric, const SwitchChannel& channel,
                        std::uint32_t gpus) {
  builder.begin_channel();
  const std::vector<std::uint32_t> order = nodes_from_the_root(channel);
  std::vector<std::vector<std::uint32_t>> arriving(order.size());  // sums at the head, by node
  std::vector<std::uint32_t> down(order.size());
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::uint32_t node = order[i];
    arriving[node].push_back(sum_in_node(builder, fabric, node * gpus, gpus, channel.heads[node]));
    if (i == 0) continue;
    const std::uint32_t up = builder.hop(channel.up[node], true);
    for (const std::uint32_t hop : arriving[node]) builder.wait(up, hop);
    arriving[channel.parent[node]].push_back(up);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t node = order[i];
    const std::uint32_t parent = channel.parent[node];
    std::vector<std::uint32_t> here = arriving[node];
    if (i > 0) {
      down[node] = builder.hop(channel.down[node], true);
      const bool from_root = parent == order[0];
      const std::vector<std::uint32_t> above =
          from_root ? arriving[parent] : std::vector{down[parent]};
      for (const std::uint32_t hop : above) builder.wait(down[node], hop);
      here = {down[node]};
    }
    send_in_node(builder, fabric, node * gpus, gpus, channel.heads[node], here);
  }
}

}  // namespace

PipelineShape in_switch_all_reduce_shape(const Fabric& fabric, int gpus_per_node) {
  ShapeBuilder builder(ChunkDependency::same, gpus_per_node);
  const auto gpus = static_cast<std::uint32_t>(std::max(1, gpus_per_node));
  for (const SwitchChannel& channel : fabric.switched)
    add_switch_channel(builder, fabric, channel, gpus);
  return builder.build();
}

}  // namespace ddpsim
