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

/// Fewer hops first, then the wider bottleneck.
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

/// Every edge carries the number of its arc.
using Csr = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, std::uint32_t>;
using Edge = boost::graph_traits<Csr>::edge_descriptor;

}  // namespace

/// Per source, computed when first asked for: the arcs by which a best route may arrive.
struct ShortestRoutes::Graph {
  std::vector<Arc> arcs;  ///< as given
  std::vector<bool> passable;
  Csr csr;
  struct Row {
    bool known = false;
    std::vector<std::uint32_t> begin;     ///< by vertex, into `arrivals`; one more at the end
    std::vector<std::uint32_t> arrivals;  ///< arcs, ascending
  };
  std::vector<Row> rows;

  bool blocked(const Arc& arc, std::uint32_t source) const {
    return arc.from != source && !passable[arc.from];
  }
  const Row& row(std::uint32_t source);
};

ShortestRoutes::ShortestRoutes(std::vector<Arc> arcs, std::vector<bool> passable)
    : graph_(std::make_unique<Graph>()) {
  Graph& graph = *graph_;
  graph.arcs = std::move(arcs);
  graph.passable = std::move(passable);
  graph.rows.resize(graph.passable.size());
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

const ShortestRoutes::Graph::Row& ShortestRoutes::Graph::row(std::uint32_t source) {
  Row& row = rows[source];
  if (row.known) return row;
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
  const auto arrives = [&](const Arc& arc) {
    if (arc.to == source || blocked(arc, source)) return false;
    const Length by_arc = Extended()(length[arc.from], {1, arc.width});
    return by_arc.hops != kUnreachable && by_arc == length[arc.to];
  };
  row.begin.assign(passable.size() + 1, 0);
  for (const Arc& arc : arcs) row.begin[arc.to + 1] += arrives(arc) ? 1U : 0U;
  for (std::size_t v = 1; v < row.begin.size(); ++v) row.begin[v] += row.begin[v - 1];
  row.arrivals.resize(row.begin.back());
  std::vector<std::uint32_t> next(row.begin.begin(), row.begin.end() - 1);
  for (std::uint32_t i = 0; i < arcs.size(); ++i) {
    if (arrives(arcs[i])) row.arrivals[next[arcs[i].to]++] = i;
  }
  row.known = true;
  return row;
}

std::vector<std::uint32_t> ShortestRoutes::route(std::uint32_t from, std::uint32_t to,
                                                 std::uint32_t spread) const {
  const Graph::Row& row = graph_->row(from);
  std::vector<std::uint32_t> route;
  for (std::uint32_t at = to; at != from;) {
    const std::uint32_t choices = row.begin[at + 1] - row.begin[at];
    if (choices == 0) return {};
    const std::uint32_t arc = row.arrivals[row.begin[at] + spread % choices];
    route.push_back(arc);
    at = graph_->arcs[arc].from;
  }
  std::reverse(route.begin(), route.end());
  return route;
}

}  // namespace ddpsim
