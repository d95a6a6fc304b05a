#include "ddpsim/sim/values/rank_slowdown.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

/// GPUs of a usual node.
constexpr int kUsualNode = 8;

double in_millionths(double share) {
  return std::round(share * 1e6) / 1e6;
}

SlowdownShares shares_of(const RankSlowdown& terms, int nodes, int ranks, int accumulate) {
  const double on_nodes =
      terms.several_nodes * (1 - 1.0 / nodes) + terms.per_doubling * elementary::log2(nodes);
  const double unexplained = ranks <= 1 ? terms.one_gpu : terms.several_gpus + on_nodes;
  return {.slowest_gpu = terms.gpu_spread * expected_maximum(ranks),
          .unexplained = unexplained / accumulate + (ranks <= 1 ? 0 : terms.given)};
}

/// The shares that the recorded step already contains.
SlowdownShares recorded_shares(const RankSlowdown& terms, const Workload& workload,
                               const Cluster& cluster) {
  const RecordedWith& with = workload.recorded_with;
  const int least = with.several_ranks() ? std::max(with.world_size, 2) : 1;
  const int ranks = std::max(least, static_cast<int>(workload.ranks.size()));
  if (ranks <= 1 && !with.ddp_hooks) return {};
  // The recording does not contain the number of nodes.
  const int nodes = std::max(1, ranks / std::max(kUsualNode, cluster.gpus_per_host()));
  return shares_of(terms, nodes, ranks, with.accumulate);
}

}  // namespace

double SlowdownShares::slowdown() const {
  return in_millionths(1 + slowest_gpu + unexplained);
}

double usual_gpu_spread(const GpuModel& gpu) {
  constexpr double kUnknown = 0.011;
  if (gpu.vendor != GpuVendor::nvidia) return kUnknown;
  switch (gpu.compute_capability) {
    case 70:
      return 0.015;
    case 120:
      return 0.007;
    default:
      return kUnknown;
  }
}

double expected_maximum(int count) {
  // Values for 1, 2, 4 ... 2^20, by numerical integration of n x phi(x) Phi(x)^(n-1).
  constexpr std::array kOfPowersOfTwo = {0.0,    0.5642, 1.0294, 1.4236, 1.7660, 2.0697, 2.3437,
                                         2.5946, 2.8269, 3.0439, 3.2482, 3.4418, 3.6261, 3.8023,
                                         3.9714, 4.1341, 4.2911, 4.4430, 4.5903, 4.7332, 4.8723};
  if (count <= 1) return 0;
  const double doublings = elementary::log2(count);
  const auto below = std::min(static_cast<std::size_t>(doublings), kOfPowersOfTwo.size() - 2);
  const double share = doublings - static_cast<double>(below);
  return kOfPowersOfTwo[below] + share * (kOfPowersOfTwo[below + 1] - kOfPowersOfTwo[below]);
}

SlowdownShares slowdown_shares(const RankSlowdown& terms, const Cluster& cluster, int accumulate) {
  return shares_of(terms, cluster.hosts(), cluster.ranks(),
                   terms.shared_by > 0 ? terms.shared_by : accumulate);
}

SlowdownShares shares_beyond_recording(const RankSlowdown& terms, const Workload& workload,
                                       const Cluster& cluster, int accumulate) {
  const SlowdownShares recorded = recorded_shares(terms, workload, cluster);
  const SlowdownShares here = slowdown_shares(terms, cluster, accumulate);
  const double held = recorded.slowdown();
  return {.slowest_gpu = std::max(here.slowest_gpu - recorded.slowest_gpu, 0.0) / held,
          .unexplained = (here.unexplained - recorded.unexplained) / held};
}

}  // namespace ddpsim
