#include "ddpsim/sim/compare/money.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ddpsim/sim/values/assert.hpp"
#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

constexpr double kSecondsPerHour = 3600;

/// Daly's equation 37. If a checkpoint takes longer than the time between failures, one checkpoint
/// per failure.
double checkpoint_interval(double checkpoint, double mtbf) {
  if (checkpoint >= 2 * mtbf) return mtbf;
  const double ratio = checkpoint / (2 * mtbf);
  return std::sqrt(2 * checkpoint * mtbf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - checkpoint;
}

/// Among the candidates sorted by cost, marks each that is faster than all cheaper ones.
void mark_frontier(Costs& costs, const std::vector<double>& seconds) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t i : costs.by_cost) {
    costs.candidates[i]->frontier = seconds[i] < least;
    least = std::min(least, seconds[i]);
  }
}

}  // namespace

double usd_per_hour(const Price& price, const Cluster& cluster, const Ownership& ownership) {
  switch (price.per) {
    case Price::Per::node_hour:
      return price.usd * cluster.hosts();
    case Price::Per::gpu_hour:
      return price.usd * cluster.ranks();
    case Price::Per::node:
      break;
  }
  const double utilisation = ownership.utilisation.value_or(1);
  DDPSIM_ASSERT(ownership.life_hours > 0 && utilisation > 0,
                "a bought node has a life and a utilisation");
  const double node =
      price.usd / (ownership.life_hours * utilisation) + ownership.node_kw * ownership.usd_per_kwh;
  return node * cluster.hosts();
}

Goodput goodput(const Failures& failures, int nodes) {
  const double mtbf = failures.node_mtbf_hours * kSecondsPerHour / nodes;
  const double checkpoint = failures.checkpoint_seconds;
  // Checkpoints that cost nothing are taken continuously, so only restarts are lost.
  const double every = checkpoint > 0 ? checkpoint_interval(checkpoint, mtbf) : 0;
  const double restart = elementary::exp(failures.restart_seconds / mtbf);
  if (every <= 0) return {.share = 1 / restart};
  // Daly's equation 20: the expected time of `every` seconds of work and a checkpoint.
  const double piece = mtbf * restart * elementary::expm1((every + checkpoint) / mtbf);
  return {.share = every / piece, .checkpoint_every_seconds = every};
}

std::vector<TimedWork> timed_works(const Comparison& comparison) {
  std::vector<TimedWork> works;
  for (const ComparedJob& job : comparison.jobs) {
    const double seconds = job.work->expected;
    works.push_back({&*job.work,
                     {seconds * (1 + job.confidence.low_percent / 100), seconds,
                      seconds * (1 + job.confidence.high_percent / 100)}});
  }
  return works;
}

std::vector<TimedWork> timed_works(const Mix& mix) {
  std::vector<TimedWork> works;
  for (const MixedCandidate& candidate : mix.candidates)
    works.push_back({&candidate.work, candidate.time});
  return works;
}

Speedup cheaper_by(const Costs& costs, const std::vector<TimedWork>& works, std::size_t cheap,
                   std::size_t dear) {
  // Time lost to failures is paid for too.
  const auto usd_per_hour_of_training = [&](std::size_t i) {
    return costs.candidates[i]->usd_per_hour / costs.candidates[i]->goodput.share;
  };
  return cheaper_by(*works[cheap].work, usd_per_hour_of_training(cheap), *works[dear].work,
                    usd_per_hour_of_training(dear));
}

Costs compare_costs(const std::vector<TimedWork>& works, const std::vector<CandidateMoney>& money) {
  DDPSIM_ASSERT(money.size() == works.size(), "each candidate has one entry of money");
  Costs costs{.candidates = std::vector<std::optional<CandidateCost>>(works.size()), .by_cost = {}};
  std::vector<double> seconds;
  for (std::size_t i = 0; i < works.size(); ++i) {
    const Cluster& cluster = works[i].work->cluster();
    const CandidateMoney& own = money[i];
    Goodput good = own.failures ? goodput(*own.failures, cluster.hosts()) : Goodput{};
    if (own.simulated) good = *own.simulated;
    const FigureRange time = works[i].seconds.times(1 / good.share);
    seconds.push_back(time.value);
    if (!own.price) continue;
    const double hourly = usd_per_hour(*own.price, cluster, own.ownership);
    costs.candidates[i] = {.price = *own.price,
                           .ownership = own.ownership,
                           .usd_per_hour = hourly,
                           .goodput = good,
                           .seconds_per_work = time,
                           .usd_per_work = time.times(hourly / kSecondsPerHour),
                           .dearer = {}};
    costs.by_cost.push_back(i);
  }
  // If two cost the same, the faster comes first.
  std::ranges::stable_sort(costs.by_cost, [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      return std::pair(costs.candidates[i]->usd_per_work.value, seconds[i]);
    };
    return key(a) < key(b);
  });
  if (costs.by_cost.empty()) return costs;
  const std::size_t cheapest = costs.by_cost.front();
  for (const std::size_t i : costs.by_cost)
    if (i != cheapest) costs.candidates[i]->dearer = cheaper_by(costs, works, cheapest, i);
  mark_frontier(costs, seconds);
  return costs;
}

}  // namespace ddpsim
