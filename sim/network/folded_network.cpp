#include "folded_network.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "kinds.hpp"

namespace ddpsim {
namespace {

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

/// Links come first, then the hops of each shape in order.
class Folding {
 public:
  Folding(std::span<const PipelineShape* const> shapes, const NetworkLinks& links)
      : shapes_(shapes), links_(links) {
    auto elements = static_cast<std::uint32_t>(links.capacities.size());
    for (const PipelineShape* shape : shapes) {
      first_hop_.push_back(elements);
      elements += static_cast<std::uint32_t>(shape->hops.size());
    }
    affected_.resize(elements);
  }

  FoldedNetwork fold() {
    note_neighbours();
    Kinds kinds(first_kinds());
    kinds.refine(affected_);
    folded_.assign(kinds.count(), kUnknown);
    for (std::uint32_t s = 0; s < shapes_.size(); ++s) network_.shapes.push_back(fold(s, kinds));
    return std::move(network_);
  }

 private:
  void note_neighbours() {
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
      const PipelineShape& shape = *shapes_[s];
      for (std::uint32_t h = 0; h < shape.hops.size(); ++h) {
        const std::uint32_t element = first_hop_[s] + h;
        for (const LinkId link : links_.of(shape.hops[h].route)) {
          affected_[link].push_back(element);
          affected_[element].push_back(link);
        }
        for (const std::uint32_t other : shape.list(shape.hops[h].feeds))
          affected_[element].push_back(first_hop_[s] + other);
      }
    }
  }
  std::vector<Kinds::Kind> first_kinds() const {
    std::vector<Kinds::Kind> first;
    std::map<std::tuple<std::size_t, std::int64_t, std::int64_t>, Kinds::Kind> known;
    const auto add = [&](std::size_t what, std::int64_t one, std::int64_t other) {
      const auto fresh = static_cast<Kinds::Kind>(known.size());
      first.push_back(known.try_emplace({what, one, other}, fresh).first->second);
    };
    for (std::size_t link = 0; link < links_.capacities.size(); ++link)
      add(shapes_.size(), links_.capacities[link], links_.latencies[link].picoseconds());
    for (std::size_t s = 0; s < shapes_.size(); ++s)
      for (const Hop& hop : shapes_[s]->hops) add(s, hop.between_nodes ? 1 : 0, 0);
    return first;
  }

  /// The first hop of each kind, in order, so each still comes after those it waits for.
  PipelineShape fold(std::uint32_t s, const Kinds& kinds) {
    const PipelineShape& shape = *shapes_[s];
    PipelineShape folded;
    folded.dependency = shape.dependency;
    std::vector<std::uint32_t> standing;
    for (std::uint32_t h = 0; h < shape.hops.size(); ++h) {
      std::uint32_t& place = folded_[kinds.of(first_hop_[s] + h)];
      if (place != kUnknown) continue;
      place = static_cast<std::uint32_t>(standing.size());
      standing.push_back(h);
    }
    std::vector<std::vector<std::uint32_t>> feeds(standing.size());
    for (std::uint32_t i = 0; i < standing.size(); ++i) {
      const Hop& hop = shape.hops[standing[i]];
      std::vector<std::uint32_t> waits_for;
      for (const std::uint32_t other : shape.list(hop.waits_for))
        waits_for.push_back(folded_[kinds.of(first_hop_[s] + other)]);
      std::sort(waits_for.begin(), waits_for.end());
      waits_for.erase(std::unique(waits_for.begin(), waits_for.end()), waits_for.end());
      for (const std::uint32_t other : waits_for) feeds[other].push_back(i);
      folded.hops.push_back({.route = route(first_hop_[s] + standing[i], hop.route, kinds),
                             .between_nodes = hop.between_nodes,
                             .waits_for = store(waits_for, folded),
                             .feeds = {}});
    }
    for (std::uint32_t i = 0; i < standing.size(); ++i)
      folded.hops[i].feeds = store(feeds[i], folded);
    return folded;
  }
  static Slice store(const std::vector<std::uint32_t>& hops, PipelineShape& shape) {
    const auto first = static_cast<std::uint32_t>(shape.hop_lists.size());
    shape.hop_lists.insert(shape.hop_lists.end(), hops.begin(), hops.end());
    return {first, static_cast<std::uint32_t>(hops.size())};
  }

  /// A hop may pass several links that are alike. It passes the one that stands for them once, and
  /// the latencies of the others go into a link of its own.
  Route route(std::uint32_t element, Route passed, const Kinds& kinds) {
    NetworkLinks& links = network_.links;
    const auto first = static_cast<std::uint32_t>(links.route_links.size());
    Duration left;
    for (const LinkId link : links_.of(passed)) {
      LinkId& standing = folded_[kinds.of(link)];
      if (standing == kUnknown)
        standing = add_link(links_.capacities[link], links_.latencies[link]);
      if (std::find(links.route_links.begin() + first, links.route_links.end(), standing) !=
          links.route_links.end()) {
        left += links_.latencies[link];
        continue;
      }
      const auto alike =
          std::count_if(affected_[link].begin(), affected_[link].end(),
                        [&](std::uint32_t other) { return kinds.of(other) == kinds.of(element); });
      links.route_links.push_back(standing);
      links.alike.push_back(static_cast<std::uint32_t>(alike));
    }
    if (left > Duration()) {
      links.route_links.push_back(add_link(std::numeric_limits<std::int64_t>::max(), left));
      links.alike.push_back(1);
    }
    return {first, static_cast<std::uint32_t>(links.route_links.size()) - first};
  }
  LinkId add_link(std::int64_t capacity, Duration latency) {
    network_.links.capacities.push_back(capacity);
    network_.links.latencies.push_back(latency);
    return static_cast<LinkId>(network_.links.capacities.size() - 1);
  }

  std::span<const PipelineShape* const> shapes_;
  const NetworkLinks& links_;
  std::vector<std::uint32_t> first_hop_;  ///< by shape
  std::vector<std::vector<Kinds::Element>> affected_;
  /// By kind: the hop of its shape, or the link.
  std::vector<std::uint32_t> folded_;
  FoldedNetwork network_;
};

}  // namespace

FoldedNetwork fold(std::span<const PipelineShape* const> shapes, const NetworkLinks& links) {
  return Folding(shapes, links).fold();
}

}  // namespace ddpsim
