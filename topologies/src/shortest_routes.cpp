#include "shortest_routes.hpp"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <limits>
#include <numeric>
#include <utility>

namespace ddpsim {
namespace {

/// Order of routes: fewer hops first, then the wider bottleneck.
struct Length {
  std::uint32_t hops = 0;
  double width = std::numeric_limits<double>::infinity();
  bool operator==(const Length&) const = default;
};

constexpr std::uint32_t kUnreachable = std::numeric_limits<std::uint32_t>::max();
constexpr Length kInfinite{kUnreachable, 0};

struct Shorter {
  bool operator()(Length a, Length b) const {
    return a.hops != b.hops ? a.hops < b.hops : a.width > b.width;
  }
};

struct Extended {
  Length operator()(Length length, Length arc) const {
    if (length.hops == kUnreachable || arc.hops == kUnreachable) return kInfinite;
    return {length.hops + arc.hops, std::min(length.width, arc.width)};
  }
};

/// Every edge holds the number of its arc.
using Csr = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, std::uint32_t>;
using Edge = boost::graph_traits<Csr>::edge_descriptor;

constexpr std::uint32_t kNoArc = std::numeric_limits<std::uint32_t>::max();

}  // namespace

struct ShortestRoutes::Graph {
  std::vector<Arc> arcs;
  std::vector<bool> passable;
  Csr csr;
  /// For each source, filled when it is first used. For each vertex, the arc by which the best
  /// route arrives.
  std::vector<std::vector<std::uint32_t>> arrivals;

  bool blocked(const Arc& arc, std::uint32_t source) const {
    return arc.from != source && !passable[arc.from];
  }
  const std::vector<std::uint32_t>& arrivals_from(std::uint32_t source);
};

ShortestRoutes::ShortestRoutes(std::vector<Arc> arcs, std::vector<bool> passable)
    : graph_(std::make_unique<Graph>()) {
  Graph& graph = *graph_;
  graph.arcs = std::move(arcs);
  graph.passable = std::move(passable);
  graph.arrivals.resize(graph.passable.size());
  std::vector<std::uint32_t> order(graph.arcs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return graph.arcs[a].from < graph.arcs[b].from;
  });
  std::vector<std::pair<std::size_t, std::size_t>> ends;
  for (const std::uint32_t arc : order) {
    ends.emplace_back(graph.arcs[arc].from, graph.arcs[arc].to);
  }
  graph.csr = Csr(boost::edges_are_sorted, ends.begin(), ends.end(), order.begin(),
                  graph.passable.size(), ends.size());
}

ShortestRoutes::~ShortestRoutes() = default;
ShortestRoutes::ShortestRoutes(ShortestRoutes&&) noexcept = default;
ShortestRoutes& ShortestRoutes::operator=(ShortestRoutes&&) noexcept = default;

const std::vector<std::uint32_t>& ShortestRoutes::Graph::arrivals_from(std::uint32_t source) {
  std::vector<std::uint32_t>& arrival = arrivals[source];
  if (!arrival.empty()) return arrival;
  std::vector<Length> length(passable.size(), kInfinite);
  const auto weight = boost::make_function_property_map<Edge>([&](const Edge& edge) {
    const Arc& arc = arcs[csr[edge]];
    return blocked(arc, source) ? kInfinite : Length{1, arc.width};
  });
  boost::dijkstra_shortest_paths(csr, source,
                                 boost::weight_map(weight)
                                     .distance_map(boost::make_iterator_property_map(
                                         length.begin(), boost::get(boost::vertex_index, csr)))
                                     .distance_compare(Shorter())
                                     .distance_combine(Extended())
                                     .distance_inf(kInfinite)
                                     .distance_zero(Length{}));
  arrival.assign(passable.size(), kNoArc);
  for (std::uint32_t i = 0; i < arcs.size(); ++i) {
    const Arc& arc = arcs[i];
    if (arc.to == source || arrival[arc.to] != kNoArc || blocked(arc, source)) continue;
    const Length by_arc = Extended()(length[arc.from], {1, arc.width});
    if (by_arc.hops != kUnreachable && by_arc == length[arc.to]) arrival[arc.to] = i;
  }
  return arrival;
}

std::vector<std::uint32_t> ShortestRoutes::route(std::uint32_t from, std::uint32_t to) const {
  const std::vector<std::uint32_t>& arrival = graph_->arrivals_from(from);
  std::vector<std::uint32_t> route;
  for (std::uint32_t at = to; at != from; at = graph_->arcs[route.back()].from) {
    if (arrival[at] == kNoArc) return {};
    route.push_back(arrival[at]);
  }
  std::reverse(route.begin(), route.end());
  return route;
}

}  // namespace ddpsim
