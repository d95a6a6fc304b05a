#include "ddpsim/sim/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "ddpsim/sim/assert.hpp"
#include "parallel.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// A job's step as predicted, and with every source of error at its bounds.
struct Sample {
  struct Moved {
    ErrorSource source;
    Duration at_one;
    Duration at_other;
  };
  const Cluster* cluster = nullptr;  ///< a job's copies, and those with other options, share it
  Duration step;
  bool measured = false;
  std::vector<Moved> bounds;
};

Sample sample(const Job& job, Duration step, const std::vector<Bounds>& scenarios) {
  Sample sample{.cluster = &job.cluster(), .step = step, .bounds = {}};
  for (const Bounds& bounds : scenarios)
    sample.bounds.push_back({bounds.source, bounds.at_one.iteration, bounds.at_other.iteration});
  return sample;
}

/// A measured step moves by nothing but its measurement.
Sample measured_sample(const Job& job, const Replay& replay, Duration step) {
  const Sensitivity noise = measurement_noise(replay);
  return {.cluster = &job.cluster(),
          .step = step,
          .measured = true,
          .bounds = {{noise.source, step + noise.low, step + noise.high}}};
}

/// Whether an error of this source is one and the same on both clusters.
bool is_shared(ErrorSource source, const Cluster& a, const Cluster& b) {
  switch (source) {
    case ErrorSource::fixed_cost:
    case ErrorSource::bandwidth:
    case ErrorSource::collective_times:
      return a.name == b.name && a.gpus_per_node == b.gpus_per_node &&
             (a.nodes > 1) == (b.nodes > 1);
    case ErrorSource::gpu_spread:
    case ErrorSource::rank_slowdown:
      return a.name == b.name;
    case ErrorSource::compute_scale:
      return a.gpu.name == b.gpu.name;
    case ErrorSource::measurement_noise:
      return false;
    case ErrorSource::replay_residual:
      return a.name == b.name && (a.nodes > 1) == (b.nodes > 1);
    default:  // of PyTorch and NCCL: the same anywhere
      return true;
  }
}

/// What the source does to the other job, where it is one error that both have.
const Sample::Moved* shared(const Sample::Moved& bounds, const Sample& from, const Sample& with) {
  if (!is_shared(bounds.source, *from.cluster, *with.cluster)) return nullptr;
  for (const Sample::Moved& other : with.bounds)
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
  if (std::min(fast.step, slow.step) <= Duration()) return {};  // a step of nothing has no speed
  const double expected = ratio(fast, fast.step, slow, slow.step);
  const auto deviation = [&](Duration fast_step, Duration slow_step) {
    return fast.step.scaled(ratio(fast, fast_step, slow, slow_step) - expected);
  };
  std::vector<Sensitivity> sensitivities;
  for (const Sample::Moved& own : fast.bounds) {
    const Sample::Moved* both = shared(own, fast, slow);
    sensitivities.push_back(
        sensitivity(own.source, deviation(own.at_one, both ? both->at_one : slow.step),
                    deviation(own.at_other, both ? both->at_other : slow.step)));
  }
  for (const Sample::Moved& own : slow.bounds)
    if (shared(own, slow, fast) == nullptr)
      sensitivities.push_back(sensitivity(own.source, deviation(fast.step, own.at_one),
                                          deviation(fast.step, own.at_other)));
  // Both steps would be measured, or were.
  for (const Sample* one : {&fast, &slow})
    if (!one->measured) sensitivities.push_back(measurement_noise(fast.step.scaled(expected)));
  const Spread spread = combine(sensitivities);
  const auto percent = [&](double times_as_fast) { return 100 * (times_as_fast - 1); };
  return {.percent = percent(expected),
          .low_percent = percent(expected + spread.low / fast.step),
          .high_percent = percent(expected + spread.high / fast.step)};
}

/// The step is the one measured.
void correct_by(const MeasuredStep& measured, const Job& job, ComparedJob& compared) {
  compared.replay = Replay{measured.median, compared.times.iteration, measured.spread};
  compared.correction = correct(job, compared.replay);
  if (!compared.correction) return;
  compared.times = compared.correction->all_compute.times;
}

/// Whether what a replay misses on one cluster is missed on the other, too.
bool carries_over(const Cluster& from, const Cluster& to) {
  if (from.ranks() == 1) return from.gpu.name == to.gpu.name;
  return to.ranks() > 1 && from.name == to.name && (from.nodes > 1) == (to.nodes > 1);
}

/// The measured job nearest in size from which a correction carries over to this one.
std::optional<std::size_t> nearest_measured(const std::vector<Job>& jobs,
                                            const std::vector<ComparedJob>& compared,
                                            std::size_t job) {
  std::optional<std::size_t> nearest;
  double least = std::numeric_limits<double>::infinity();
  const Cluster& to = jobs[job].cluster();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Cluster& from = jobs[i].cluster();
    if (!compared[i].correction || !carries_over(from, to)) continue;
    const double apart = std::abs(std::log(static_cast<double>(from.ranks()) / to.ranks()));
    if (apart >= least) continue;
    nearest = i;
    least = apart;
  }
  return nearest;
}

/// The job as another's correction makes it. How much slower its own number of ranks computes stays open.
Job carried(const Job& job, const Explanation& explanation) {
  Job corrected = explained(job, explanation);
  SimulationOptions options = corrected.options();
  options.rank_slowdown_range = job.options().rank_slowdown_range;
  return corrected.with(std::move(options));
}

class Comparer {
 public:
  Comparer(const std::vector<Job>& jobs, const CompareOptions& options, int threads)
      : jobs_(jobs), options_(options), samples_(jobs.size()) {
    tuning_.advise_each_version = false;
    // Threads that no job needs go into its search.
    tuning_.threads =
        std::max(1, threads / static_cast<int>(std::min<std::size_t>(jobs.size(), 1024)));
    result_.jobs.resize(jobs.size());
  }

  void predict(std::size_t i) {
    ComparedJob& compared = result_.jobs[i];
    compared.times = simulate_times(jobs_[i]);
    if (i < options_.measured.size() && options_.measured[i])
      correct_by(*options_.measured[i], jobs_[i], compared);
  }

  /// After all were predicted.
  void assess_one(std::size_t i) {
    ComparedJob& compared = result_.jobs[i];
    TuneOptions tuning = tuning_;
    tuning.replay = compared.replay;
    const StepTimes predicted = compared.times;
    Job job = jobs_[i];
    std::vector<Bounds> scenarios;
    std::optional<Bounds> beside;
    if (compared.correction) {
      scenarios = simulate_scenarios(explained(job, compared.correction->all_compute));
      samples_[i] = measured_sample(job, *compared.replay, predicted.iteration);
      beside = Bounds{ErrorSource::replay_residual, predicted,
                      compared.correction->all_communication.times};
    } else {
      compared.corrected_by = nearest_measured(jobs_, result_.jobs, i);
      if (compared.corrected_by) job = carry_over(i);
      scenarios = simulate_scenarios(job);
      samples_[i] = sample(jobs_[i], compared.times.iteration, scenarios);
      if (compared.corrected_by) {
        const Job other = explained(jobs_[i], correction_of(i).all_communication);
        beside = Bounds{ErrorSource::replay_residual, predicted, simulate_times(other)};
        samples_[i].bounds.push_back(
            {beside->source, beside->at_one.iteration, beside->at_other.iteration});
      }
    }
    compared.confidence = assess(job, compared.times, scenarios, compared.replay, beside);
    if (options_.tune) compared.best_cap = tune(job, tuning).recommended;
  }

  Comparison ranked() && {
    std::vector<std::size_t>& order = result_.by_speed;
    order.resize(jobs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto speed = [&](std::size_t i) {
      return jobs_[i].cluster().ranks() / result_.jobs[i].times.iteration.seconds();
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return speed(a) > speed(b); });
    const std::size_t fastest = order.front();
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (i != fastest) result_.jobs[i].behind = lead(samples_[fastest], samples_[i]);
    return std::move(result_);
  }

 private:
  const MeasuredCorrection& correction_of(std::size_t i) const {
    return *result_.jobs[*result_.jobs[i].corrected_by].correction;
  }
  Job carry_over(std::size_t i) {
    ComparedJob& compared = result_.jobs[i];
    Job job = carried(jobs_[i], correction_of(i).all_compute);
    compared.times = simulate_times(job);
    return job;
  }

  const std::vector<Job>& jobs_;
  const CompareOptions& options_;
  TuneOptions tuning_;
  std::vector<Sample> samples_;
  Comparison result_;
};

}  // namespace

Comparison compare(const std::vector<Job>& jobs, const CompareOptions& options) {
  DDPSIM_ASSERT(!jobs.empty(), "nothing to compare");
  const int threads = threads_for(options.threads);
  Comparer comparer(jobs, options, threads);
  for_each_index(jobs.size(), threads, 1, [&](std::size_t i) { comparer.predict(i); });
  for_each_index(jobs.size(), threads, 1, [&](std::size_t i) { comparer.assess_one(i); });
  return std::move(comparer).ranked();
}

}  // namespace ddpsim
