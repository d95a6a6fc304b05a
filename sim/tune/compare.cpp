#include "ddpsim/sim/compare.hpp"

#include <algorithm>
#include <numeric>

#include "ddpsim/sim/assert.hpp"
#include "parallel.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// A job's step as predicted and in every world that may be the true one.
struct Sample {
  const Cluster* cluster = nullptr;
  Duration step;
  std::vector<std::string> sources;  ///< by world
  std::vector<Duration> steps;       ///< by world
};

Sample sample(const Job& job, Duration step) {
  Sample sample{.cluster = &job.cluster(), .step = step, .sources = {}, .steps = {}};
  for (const Scenario& world : scenarios(job)) {
    sample.sources.push_back(world.source);
    sample.steps.push_back(simulate_times(world.job).iteration);
  }
  return sample;
}

/// Whether an error of this source is one and the same on both clusters.
bool is_shared(const std::string& source, const Cluster& a, const Cluster& b) {
  if (source == kFixedCost || source == kBandwidth || source == kCollectiveTimes)
    return a.name == b.name && a.gpus_per_node == b.gpus_per_node && (a.nodes > 1) == (b.nodes > 1);
  if (source == kRankPace) return a.name == b.name;
  if (source == kComputeScale) return a.gpu.name == b.gpu.name;
  return true;
}

/// How many times as fast as `slow` a job trains, from the two steps.
double ratio(const Sample& fast, Duration fast_step, const Sample& slow, Duration slow_step) {
  return static_cast<double>(fast.cluster->ranks()) / slow.cluster->ranks() *
         (slow_step / fast_step);
}

/// Deviations of the ratio, written as times of the faster step so that they combine as those of a
/// step do.
Lead lead(const Sample& fast, const Sample& slow) {
  // A recorded stall may be so negative that nothing is left of a step: then there is no speed.
  if (std::min(fast.step, slow.step) <= Duration()) return {};
  const double expected = ratio(fast, fast.step, slow, slow.step);
  std::vector<Deviation> deviations;
  const auto add = [&](const std::string& source, Duration fast_step, Duration slow_step) {
    deviations.push_back(
        {source, fast.step.scaled(ratio(fast, fast_step, slow, slow_step) - expected)});
  };
  const auto shared_with = [](const Sample& a, const Sample& b, std::size_t world) {
    return world < b.sources.size() && b.sources[world] == a.sources[world] &&
           is_shared(a.sources[world], *a.cluster, *b.cluster);
  };
  for (std::size_t w = 0; w < fast.steps.size(); ++w) {
    if (shared_with(fast, slow, w))
      add(fast.sources[w], fast.steps[w], slow.steps[w]);
    else
      add(fast.sources[w] + ", faster job", fast.steps[w], slow.step);
  }
  for (std::size_t w = 0; w < slow.steps.size(); ++w)
    if (!shared_with(slow, fast, w))
      add(slow.sources[w] + ", slower job", fast.step, slow.steps[w]);

  std::vector<Duration> extra;  // both steps would be measured
  for (const double sign : {-1.0, -1.0, 1.0, 1.0})
    extra.push_back(fast.step.scaled(sign * kMeasurementNoise * expected));
  const Spread spread = combine(deviations, extra);
  const auto percent = [&](double times_as_fast) { return 100 * (times_as_fast - 1); };
  return {.percent = percent(expected),
          .low_percent = percent(expected + spread.low / fast.step),
          .high_percent = percent(expected + spread.high / fast.step)};
}

Duration step_alone(const StepTimes& times, const Job& job) {
  const Duration compute =
      times.forward - times.buffer_broadcast + times.backward_compute + times.optimizer;
  return compute.scaled(1 / slowdown(job.options().pace, job.cluster())) +
         stall(job.workload()).value_or(Duration()) * job.options().ddp.accumulate;
}

}  // namespace

Comparison compare(const std::vector<Job>& jobs, const CompareOptions& options) {
  DDPSIM_ASSERT(!jobs.empty(), "nothing to compare");
  const std::size_t count = jobs.size();
  const int threads = threads_for(options.threads);
  TuneOptions tuning;  // threads that no job needs go into its search
  tuning.threads = std::max(1, threads / static_cast<int>(std::min<std::size_t>(count, 1024)));

  Comparison result;
  result.jobs.resize(count);
  std::vector<Sample> samples(count);
  for_each_index(count, threads, 1, [&](std::size_t i) {
    const Job& job = jobs[i];
    ComparedJob& compared = result.jobs[i];
    compared.times = simulate_times(job);
    const Duration step = compared.times.iteration;
    compared.alone = step_alone(compared.times, job);
    compared.efficiency = compared.alone / step;
    compared.confidence = assess(job, step, std::nullopt);
    if (options.tune) compared.best_cap = tune(job, tuning).recommended;
    samples[i] = sample(job, step);
  });

  result.by_speed.resize(count);
  std::iota(result.by_speed.begin(), result.by_speed.end(), std::size_t{0});
  const auto speed = [&](std::size_t i) {
    return jobs[i].cluster().ranks() / result.jobs[i].times.iteration.seconds();
  };
  std::stable_sort(result.by_speed.begin(), result.by_speed.end(),
                   [&](std::size_t a, std::size_t b) { return speed(a) > speed(b); });
  const std::size_t fastest = result.by_speed.front();
  for (std::size_t i = 0; i < count; ++i)
    if (i != fastest) result.jobs[i].behind = lead(samples[fastest], samples[i]);
  return result;
}

}  // namespace ddpsim
