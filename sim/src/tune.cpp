#include "ddpsim/sim/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "best_partition.hpp"
#include "bucketing_search.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

constexpr TorchVersion kCapList{2, 11};

/// Calls body(i) for every i below `count`, on several threads; results are stored by index, so the
/// number of threads shows nowhere.
template <typename Body>
void for_each_index(std::size_t count, int threads, Body body) {
  const unsigned available = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = threads > 0 ? static_cast<std::size_t>(threads) : available;
  const std::size_t used = std::min(wanted, std::max<std::size_t>(1, count / 8));
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> workers;
  for (std::size_t t = 1; t < used; ++t) workers.emplace_back(run);
  run();
}

class Tuner {
 public:
  Tuner(const Workload& workload, const Cluster& cluster, const SimulationOptions& options,
        const CollectiveModel& model, const TuneOptions& tuning)
      : workload_(workload), cluster_(cluster), options_(options), model_(model), tuning_(tuning) {}

  TuneResult run() {
    const Bucketing standard = evaluated(default_bucketing(workload_, options_.ddp));
    std::vector<Bucketing> found = enumerate_bucketings(workload_, options_.ddp, tuning_.caps);
    for_each_index(found.size(), tuning_.threads,
                   [&](std::size_t i) { found[i] = evaluated(std::move(found[i])); });

    TuneResult result;
    result.default_setting = standard.point;
    const std::size_t best = index_of_best(found);
    result.best = best == kNone ? standard.point : found[best].point;
    result.recommended = recommend(standard, found, best);
    result.lower_bound = lower_bound(standard.buckets);
    partition(standard, found, best, result);
    for (Bucketing& bucketing : found) result.curve.push_back(std::move(bucketing.point));
    return result;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  SimulationOptions with(const std::vector<Bucket>& buckets, SimulationOptions options) const {
    options.iterations = 0;
    options.buckets = buckets;
    return options;
  }

  Bucketing evaluated(Bucketing bucketing) const {
    const StepTimes times =
        simulate_times(workload_, cluster_, with(bucketing.buckets, options_), model_);
    bucketing.point.iteration = times.iteration;
    bucketing.point.exposed_communication = times.exposed_communication;
    return bucketing;
  }

  /// The first of the fastest reachable points.
  std::size_t index_of_best(const std::vector<Bucketing>& found) const {
    std::size_t best = kNone;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i].point.reachable &&
          (best == kNone || found[i].point.iteration < found[best].point.iteration))
        best = i;
    return best;
  }

  /// Points beside `index` in the same family that nobody could tell from it by measuring.
  std::pair<std::size_t, std::size_t> plateau(const std::vector<Bucketing>& found,
                                              std::size_t index, Duration slack) const {
    const CurvePoint& centre = found[index].point;
    const auto belongs = [&](const CurvePoint& point) {
      return point.bucket_cap_mb.has_value() == centre.bucket_cap_mb.has_value() &&
             (!centre.bucket_cap_mb || same_first_rule(point, centre)) &&
             point.iteration <= centre.iteration + slack;
    };
    std::size_t low = index;
    std::size_t high = index;
    while (low > 0 && belongs(found[low - 1].point)) --low;
    while (high + 1 < found.size() && belongs(found[high + 1].point)) ++high;
    return {low, high};
  }

  /// Either both have the cap as first limit, or both the same first limit.
  static bool same_first_rule(const CurvePoint& a, const CurvePoint& b) {
    const bool a_follows = a.first_bucket_mb == a.bucket_cap_mb;
    const bool b_follows = b.first_bucket_mb == b.bucket_cap_mb;
    return a_follows == b_follows && (a_follows || a.first_bucket_mb == b.first_bucket_mb);
  }

  /// A number a person would write inside [low, high] MiB: as few digits as fit, near the middle.
  static double round_cap(double low, double high) {
    for (const double unit : {100.0, 50.0, 25.0, 10.0, 5.0, 1.0, 0.5, 0.1, 0.01}) {
      const double middle = std::floor((low + high) / 2 / unit + 0.5) * unit;
      for (const double candidate : {middle, middle - unit, middle + unit})
        if (candidate >= low && candidate <= high && candidate > 0) return candidate;
    }
    return high;
  }

  Recommendation recommend(const Bucketing& standard, const std::vector<Bucketing>& found,
                           std::size_t best) const {
    Recommendation verdict;
    verdict.measurable = standard.point.iteration.scaled(tuning_.measurable_share);
    if (best == kNone) {
      verdict.reason = "none of the caps asked for can be set with this PyTorch";
      return verdict;
    }
    const auto [low, high] = plateau(found, best, verdict.measurable.scaled(0.25));
    const Bucketing* chosen = &found[best];
    const bool sets_cap = found[best].point.bucket_cap_mb.has_value();
    if (sets_cap) {
      verdict.cap_range_mb = {found[low].point.cap_range_mb.first,
                              found[high].point.cap_range_mb.second};
      const double cap = tuning_.caps.empty()
                             ? round_cap(verdict.cap_range_mb.first, verdict.cap_range_mb.second)
                             : *found[best].point.bucket_cap_mb;
      verdict.bucket_cap_mb = cap;
      for (std::size_t i = low; i <= high; ++i)
        if (found[i].point.cap_range_mb.first <= cap && cap <= found[i].point.cap_range_mb.second)
          chosen = &found[i];
      if (chosen->point.first_bucket_mb != chosen->point.bucket_cap_mb &&
          chosen->point.first_bucket_mb != standard.point.first_bucket_mb)
        verdict.first_bucket_mb = chosen->point.first_bucket_mb;
    } else {
      verdict.cap_range_mb = found[best].point.cap_range_mb;
      verdict.first_bucket_mb = found[best].point.first_bucket_mb;
    }
    verdict.gain = gain(standard, *chosen);
    verdict.set = verdict.gain.value >= verdict.measurable && verdict.gain.low > Duration();
    explain(standard, *chosen, verdict);
    return verdict;
  }

  void explain(const Bucketing& standard, const Bucketing& chosen, Recommendation& verdict) const {
    if (verdict.set) {
      if (verdict.first_bucket_mb)
        verdict.python = fmt::format("torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = {}",
                                     std::llround(*verdict.first_bucket_mb * 1048576));
      if (verdict.bucket_cap_mb)
        verdict.python += fmt::format("{}DistributedDataParallel(model, bucket_cap_mb={})",
                                      verdict.python.empty() ? "" : "; ", *verdict.bucket_cap_mb);
      verdict.reason =
          fmt::format("{} buckets instead of {}", chosen.point.buckets, standard.point.buckets);
      return;
    }
    verdict.bucket_cap_mb.reset();
    verdict.first_bucket_mb.reset();
    if (verdict.gain.value <= Duration())
      verdict.reason = "no other bucketing is faster";
    else if (verdict.gain.value < verdict.measurable)
      verdict.reason = "no other bucketing gains as much as could be measured";
    else
      verdict.reason =
          "a larger gain is predicted, but within what is not known about this cluster it may be "
          "none";
  }

  /// iteration(default) - iteration(chosen), and again in every world that may be the true one.
  Gain gain(const Bucketing& standard, const Bucketing& chosen) const {
    const Duration value = standard.point.iteration - chosen.point.iteration;
    const std::vector<Scenario> worlds = scenarios(options_, model_);
    std::vector<Duration> deviations(worlds.size());
    for_each_index(worlds.size(), tuning_.threads, [&](std::size_t i) {
      const auto time = [&](const std::vector<Bucket>& buckets) {
        return simulate_times(workload_, cluster_, with(buckets, worlds[i].options),
                              worlds[i].model)
            .iteration;
      };
      deviations[i] = time(standard.buckets) - time(chosen.buckets) - value;
    });
    std::vector<Duration> extra;
    if (tuning_.measured_step) {
      // What the replay of today's step leaves unexplained may scale the gain either way.
      const double residual =
          (*tuning_.measured_step - standard.point.iteration) / standard.point.iteration;
      extra = {value.scaled(residual), value.scaled(-residual)};
    }
    const Spread spread = combine(worlds, deviations, extra);
    return {.value = value, .low = value + spread.low, .high = value + spread.high};
  }

  /// Collectives, their launches and their interference take no time at all.
  Duration lower_bound(const std::vector<Bucket>& buckets) const {
    SimulationOptions free = with(buckets, options_);
    free.interference = {.sm_share = 0, .communication_rate = 1};
    free.costs.host_hook = free.costs.host_launch = free.costs.host_search_per_parameter =
        Duration();
    free.costs.launch_latency = free.costs.event_latency = Duration();
    return simulate_times(workload_, cluster_, free, FreeModel{}).iteration;
  }

  void partition(const Bucketing& standard, const std::vector<Bucketing>& found, std::size_t best,
                 TuneResult& result) const {
    if (const std::optional<std::string> reason = no_partition_because(workload_)) {
      result.best_partition_absent_because = *reason;
      return;
    }
    Bucketing candidate{.buckets = best_partition(workload_, cluster_, options_, model_),
                        .point = {}};
    candidate = evaluated(std::move(candidate));
    // Seen in full, a cap's bucketing may still beat the cut.
    const Bucketing& settable = best == kNone ? standard : found[best];
    const bool list = options_.ddp.torch >= kCapList && bucket_limits(options_.ddp).rebuilt_from;
    if (settable.point.iteration <= candidate.point.iteration)
      result.best_partition = {settable.buckets, settable.point.iteration, true};
    else
      result.best_partition = {candidate.buckets, candidate.point.iteration, list};
  }

  const Workload& workload_;
  const Cluster& cluster_;
  const SimulationOptions& options_;
  const CollectiveModel& model_;
  const TuneOptions& tuning_;
};

}  // namespace

TuneResult tune(const Workload& workload, const Cluster& cluster, const SimulationOptions& options,
                const CollectiveModel& model, const TuneOptions& tuning) {
  return Tuner(workload, cluster, options, model, tuning).run();
}

}  // namespace ddpsim
