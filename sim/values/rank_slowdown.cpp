#include "ddpsim/sim/rank_slowdown.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {
namespace {

/// GPUs of one.
constexpr int kUsualNode = 8;

/// In whole millionths: the last bit of a platform's log2 must not show.
double slowdown_of(const RankSlowdown& terms, int nodes, int ranks) {
  if (ranks <= 1) return 1;
  const double more = terms.beside_others + terms.per_doubling * std::log2(nodes);
  return 1 + std::round(more * 1e6) / 1e6;
}

}  // namespace

double slowdown(const RankSlowdown& terms, const Cluster& cluster) {
  return slowdown_of(terms, cluster.nodes, cluster.ranks());
}

double slowdown_of_compute(const RankSlowdown& terms, const Workload& workload,
                           const Cluster& cluster) {
  const int recorded =
      std::max(workload.recorded_with.world_size, static_cast<int>(workload.ranks.size()));
  // Nobody recorded how many nodes they were on.
  const int nodes = std::max(1, recorded / std::max(kUsualNode, cluster.gpus_per_node));
  return slowdown(terms, cluster) / slowdown_of(terms, nodes, recorded);
}

}  // namespace ddpsim
