#include "ddpsim/sim/compare.hpp"

#include <algorithm>
#include <numeric>

#include "ddpsim/sim/assert.hpp"
#include "parallel.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// A job's step as predicted, and with every source of error at its bounds.
struct Sample {
  struct Bounds {
    ErrorSource source;
    Duration at_one;
    Duration at_other;
  };
  const Cluster* cluster = nullptr;
  Duration step;
  std::vector<Bounds> bounds;
};

Sample sample(const Job& job, Duration step) {
  Sample sample{.cluster = &job.cluster(), .step = step, .bounds = {}};
  for (const Scenario& scenario : scenarios(job))
    sample.bounds.push_back({scenario.source, simulate_times(scenario.at_one).iteration,
                             simulate_times(scenario.at_other).iteration});
  return sample;
}

/// Whether an error of this source is one and the same on both clusters.
bool is_shared(ErrorSource source, const Cluster& a, const Cluster& b) {
  switch (source) {
    case ErrorSource::fixed_cost:
    case ErrorSource::bandwidth:
    case ErrorSource::collective_times:
      return a.name == b.name && a.gpus_per_node == b.gpus_per_node &&
             (a.nodes > 1) == (b.nodes > 1);
    case ErrorSource::rank_slowdown:
      return a.name == b.name;
    case ErrorSource::compute_scale:
      return a.gpu.name == b.gpu.name;
    default:  // of PyTorch and NCCL: the same anywhere
      return true;
  }
}

/// What the source does to the other job, where it is one error that both have.
const Sample::Bounds* shared(const Sample::Bounds& bounds, const Sample& from, const Sample& with) {
  if (!is_shared(bounds.source, *from.cluster, *with.cluster)) return nullptr;
  for (const Sample::Bounds& other : with.bounds)
    if (other.source == bounds.source) return &other;
  return nullptr;
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
  const auto deviation = [&](Duration fast_step, Duration slow_step) {
    return fast.step.scaled(ratio(fast, fast_step, slow, slow_step) - expected);
  };
  std::vector<Sensitivity> sensitivities;
  for (const Sample::Bounds& own : fast.bounds) {
    const Sample::Bounds* both = shared(own, fast, slow);
    sensitivities.push_back(
        sensitivity(own.source, deviation(own.at_one, both ? both->at_one : slow.step),
                    deviation(own.at_other, both ? both->at_other : slow.step)));
  }
  for (const Sample::Bounds& own : slow.bounds)
    if (shared(own, slow, fast) == nullptr)
      sensitivities.push_back(sensitivity(own.source, deviation(fast.step, own.at_one),
                                          deviation(fast.step, own.at_other)));
  // Both steps would be measured.
  for (int measured = 0; measured < 2; ++measured)
    sensitivities.push_back(measurement_noise(fast.step.scaled(expected)));
  const Spread spread = combine(sensitivities);
  const auto percent = [&](double times_as_fast) { return 100 * (times_as_fast - 1); };
  return {.percent = percent(expected),
          .low_percent = percent(expected + spread.low / fast.step),
          .high_percent = percent(expected + spread.high / fast.step)};
}

Duration step_alone(const StepTimes& times, const Job& job) {
  const Duration compute =
      times.forward - times.buffer_broadcast + times.backward_compute + times.optimizer;
  return compute.scaled(1 / slowdown(job.options().rank_slowdown, job.cluster())) +
         stall(job.workload()).value_or(Duration()) * job.options().ddp.accumulate;
}

}  // namespace

Comparison compare(const std::vector<Job>& jobs, const CompareOptions& options) {
  DDPSIM_ASSERT(!jobs.empty(), "nothing to compare");
  const std::size_t count = jobs.size();
  const int threads = threads_for(options.threads);
  TuneOptions tuning;  // threads that no job needs go into its search
  tuning.advise_each_version = false;
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
