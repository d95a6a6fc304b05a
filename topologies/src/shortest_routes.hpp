// The shortest routes in a small graph, and the widest among equally short ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace ddpsim {

struct Arc {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double width = 0;  ///< bandwidth in any unit
};

class ShortestRoutes {
 public:
  /// A route may begin and end anywhere, but it passes only through vertices that are `passable`.
  ShortestRoutes(std::vector<Arc> arcs, std::vector<bool> passable);
  ~ShortestRoutes();
  ShortestRoutes(ShortestRoutes&&) noexcept;
  ShortestRoutes& operator=(ShortestRoutes&&) noexcept;

  /// Arcs of the route, in order. Empty if there is no route, or if both ends are the same. Among
  /// equally good routes, earlier arcs win.
  std::vector<std::uint32_t> route(std::uint32_t from, std::uint32_t to) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace ddpsim
