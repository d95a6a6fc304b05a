#include "staleness.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <variant>
#include <vector>

#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/sim/values/rank_variation.hpp"

namespace ddpsim {
namespace {

constexpr int kSeeds = 16;
constexpr int kUpdates = 400'000;  ///< over all seeds
// Bounds for the updates of each worker with one seed.
constexpr int kFewest = 20;
constexpr int kMost = 500;
constexpr int kLeftOut = 5;  ///< of each worker, at the start

struct Workers {
  const RankVariation& variation;
  int count;
  int ranks_each;
  Duration compute;  ///< without a slowdown
  Duration beside;   ///< step time outside compute

  Duration period(std::uint64_t seed, int worker, int step) const {
    RankVariation drawn = variation;
    drawn.seed = seed;
    double slowest = 0;
    for (int rank = 0; rank < ranks_each; ++rank)
      slowest = std::max(slowest, slowdown(drawn, worker * ranks_each + rank, step));
    return beside + compute.scaled(slowest);
  }
};

}  // namespace

std::optional<Staleness> staleness_of(const Job& job, const StepTimes& times) {
  const ParameterServer* scheme = std::get_if<ParameterServer>(&job.options().scheme);
  if (scheme == nullptr || scheme->mode != ParameterServer::Mode::async) return std::nullopt;
  const Cluster& cluster = job.cluster();
  const int count = scheme->host ? cluster.gpus_per_node : cluster.nodes;
  const Duration compute = times.forward + times.backward;
  const Workers workers{.variation = job.options().variation,
                        .count = count,
                        .ranks_each = scheme->host ? 1 : cluster.gpus_per_node,
                        .compute = compute,
                        .beside = times.iteration - compute};
  const int steps = std::clamp(kUpdates / (kSeeds * count), kFewest, kMost);
  std::vector<std::int64_t> stale;
  double seconds = 0;
  for (int s = 0; s < kSeeds; ++s) {
    const std::uint64_t seed = job.options().variation.seed + static_cast<std::uint64_t>(s);
    struct Ending {
      Duration at;
      int worker;
      auto operator<=>(const Ending&) const = default;
    };
    std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;
    std::vector<std::int64_t> pulled(static_cast<std::size_t>(count));  // updates before the pull
    std::vector<int> done(static_cast<std::size_t>(count));
    for (int worker = 0; worker < count; ++worker)
      endings.push({times.iteration.scaled(static_cast<double>(worker) / count) +
                        workers.period(seed, worker, 1),
                    worker});
    std::int64_t updates = 0;
    Duration first;
    Duration last;
    std::int64_t counted = 0;
    // Stop when the first worker is done, because fewer workers would update after that.
    for (bool all = true; all;) {
      const Ending ending = endings.top();
      endings.pop();
      const auto w = static_cast<std::size_t>(ending.worker);
      const std::int64_t seen = updates - pulled[w];
      pulled[w] = ++updates;
      ++done[w];
      if (done[w] > kLeftOut) {
        if (counted++ == 0) first = ending.at;
        last = ending.at;
        stale.push_back(seen);
      }
      all = done[w] < steps;
      endings.push({ending.at + workers.period(seed, ending.worker, done[w] + 1), ending.worker});
    }
    seconds +=
        (last - first).seconds() / static_cast<double>(std::max<std::int64_t>(counted - 1, 1));
  }
  Staleness result{.workers = count, .updates = static_cast<std::int64_t>(stale.size())};
  double sum = 0;
  for (const std::int64_t one : stale) sum += static_cast<double>(one);
  result.mean = sum / static_cast<double>(stale.size());
  result.p50 = quantile(stale, 0.5);
  result.p95 = quantile(stale, 0.95);
  result.max = *std::ranges::max_element(stale);
  result.updates_per_second = seconds > 0 ? kSeeds / seconds : 0;
  return result;
}

}  // namespace ddpsim
