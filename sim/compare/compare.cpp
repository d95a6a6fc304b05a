#include "ddpsim/sim/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "ddpsim/sim/engine/parallel.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "scheme_error.hpp"
#include "shared_errors.hpp"
#include "uncertainty.hpp"

namespace ddpsim {
namespace {

/// Makes the job's step the measured one.
void correct_by(const MeasuredStep& measured, const Job& job, ComparedJob& compared) {
  compared.replay = Replay{measured.median, compared.times.iteration, measured.spread,
                           measured.source, most_apart(job, compared.times)};
  compared.correction = correct(job, compared.replay);
  if (!compared.correction) return;
  compared.times = compared.correction->all_compute.times;
}

/// Whether a replay's residual on one cluster applies to the other too, with any number of nodes
/// and GPUs.
bool carries_over(const Cluster& from, Cluster to) {
  if (from.ranks() == 1) return from.gpu.name == to.gpu.name;
  if (to.ranks() == 1) return false;
  to.gpus_per_node = from.gpus_per_node;
  return kinship(from, to) == Kinship::same_nodes;
}

/// The measured job nearest in size whose correction carries over to this one.
std::optional<std::size_t> nearest_measured(const std::vector<Job>& jobs,
                                            const std::vector<ComparedJob>& compared,
                                            std::size_t job) {
  std::optional<std::size_t> nearest;
  double least = std::numeric_limits<double>::infinity();
  const Cluster& to = jobs[job].cluster();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Cluster& from = jobs[i].cluster();
    if (!compared[i].correction || !carries_over(from, to)) continue;
    const double apart = std::abs(elementary::log(static_cast<double>(from.ranks()) / to.ranks()));
    if (apart >= least) continue;
    nearest = i;
    least = apart;
  }
  return nearest;
}

/// The job with another job's correction. How much slower its own number of ranks computes stays
/// uncertain.
Job carried(const Job& job, const Explanation& explanation) {
  Job corrected = explained(job, explanation);
  SimulationOptions options = corrected.options();
  options.rank_slowdown_range = job.options().rank_slowdown_range;
  return corrected.with(std::move(options));
}

/// Interval of the efficiency over the scenarios of a step.
FigureRange efficiency_range(const StepTimes& times, const std::vector<Bounds>& scenarios) {
  const double expected = scaling_efficiency(times);
  double low = 0;
  double high = 0;
  for (const Bounds& bounds : scenarios) {
    const double one = scaling_efficiency(bounds.at_one) - expected;
    const double other = scaling_efficiency(bounds.at_other) - expected;
    const double down = std::min({one, other, 0.0});
    const double up = std::max({one, other, 0.0});
    low += down * down;
    high += up * up;
  }
  return {std::max(0.0, expected - std::sqrt(low)), expected, expected + std::sqrt(high)};
}

class Comparer {
 public:
  Comparer(const std::vector<Job>& jobs, const CompareOptions& options)
      : jobs_(jobs), options_(options) {
    result_.jobs.resize(jobs.size());
  }

  void predict(std::size_t i) {
    ComparedJob& compared = result_.jobs[i];
    compared.times = simulate_times(jobs_[i]);
    if (i < options_.measured.size() && options_.measured[i])
      correct_by(*options_.measured[i], jobs_[i], compared);
  }

  /// Assesses one job; all must be predicted by then.
  void assess_one(std::size_t i) {
    ComparedJob& compared = result_.jobs[i];
    const StepTimes predicted = compared.times;
    Job job = jobs_[i];
    std::vector<Bounds> scenarios;
    std::optional<Bounds> beside;
    if (compared.correction) {
      scenarios = simulate_scenarios(explained(job, compared.correction->all_compute));
      compared.work = measured_work(i, *compared.replay, predicted.iteration);
      beside = Bounds{ErrorSource::replay_residual, predicted,
                      compared.correction->all_communication.times};
    } else {
      compared.corrected_by = nearest_measured(jobs_, result_.jobs, i);
      if (compared.corrected_by) job = carry_over(i);
      scenarios = bounds_of_prediction(job, compared.times);
      compared.work = predicted_work(i, job, compared.times.iteration, scenarios);
      if (compared.corrected_by) {
        const Job other = explained(jobs_[i], correction_of(i).all_communication);
        beside = Bounds{ErrorSource::replay_residual, predicted, simulate_times(other)};
        add_bounds(i, *beside, *compared.work);
      }
    }
    compared.efficiency_range = efficiency_range(compared.times, scenarios);
    compared.confidence = assess(job, compared.times, scenarios, compared.replay, beside);
  }

  Comparison ranked() && {
    std::vector<std::size_t>& order = result_.by_speed;
    order.resize(jobs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto speed = [&](std::size_t i) {
      return samples(i) / result_.jobs[i].times.iteration.seconds();
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return speed(a) > speed(b); });
    const WorkTime& fastest = *result_.jobs[order.front()].work;
    for (const std::size_t i : order)
      if (i != order.front()) result_.jobs[i].behind = speedup(fastest, *result_.jobs[i].work);
    return std::move(result_);
  }

 private:
  double samples(std::size_t i) const {
    return options_.samples.empty() ? jobs_[i].cluster().ranks() : options_.samples[i];
  }
  double seconds_of_work(std::size_t i, Duration step) const { return step.seconds() / samples(i); }

  void add_bounds(std::size_t i, const Bounds& bounds, WorkTime& work) const {
    work.moved.push_back({bounds.source, seconds_of_work(i, bounds.at_one.iteration),
                          seconds_of_work(i, bounds.at_other.iteration)});
  }
  WorkTime predicted_work(std::size_t i, const Job& job, Duration step,
                          const std::vector<Bounds>& scenarios) const {
    WorkTime work{.jobs = {job}, .expected = seconds_of_work(i, step)};
    for (const Bounds& bounds : scenarios) add_bounds(i, bounds, work);
    return work;
  }
  /// Only the measurement's own noise moves a measured step.
  WorkTime measured_work(std::size_t i, const Replay& replay, Duration step) const {
    const Sensitivity noise = measurement_noise(replay);
    return {.jobs = {jobs_[i]},
            .expected = seconds_of_work(i, step),
            .measured = 1,
            .moved = {{noise.source, seconds_of_work(i, step + noise.low),
                       seconds_of_work(i, step + noise.high)}}};
  }

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
  Comparison result_;
};

}  // namespace

Comparison compare(const std::vector<Job>& jobs, const CompareOptions& options) {
  DDPSIM_ASSERT(!jobs.empty(), "nothing to compare");
  DDPSIM_ASSERT(options.samples.empty() || options.samples.size() == jobs.size(),
                "samples are given for each job or for none");
  const int threads = threads_for(options.threads);
  Comparer comparer(jobs, options);
  for_each_index(jobs.size(), threads, 1, options.progress,
                 [&](std::size_t i) { comparer.predict(i); });
  for_each_index(jobs.size(), threads, 1, options.progress,
                 [&](std::size_t i) { comparer.assess_one(i); });
  return std::move(comparer).ranked();
}

std::vector<std::size_t> contenders(const Comparison& comparison) {
  std::vector<std::size_t> jobs;
  for (const std::size_t i : comparison.by_speed)
    if (jobs.empty() || !comparison.jobs[i].behind.certain()) jobs.push_back(i);
  return jobs;
}

void search_caps(Comparison& comparison, const std::vector<std::size_t>& jobs, int threads,
                 Progress* progress) {
  if (jobs.empty()) return;
  threads = threads_for(threads);
  // Threads that no job needs help with its search.
  const int of_search =
      std::max(1, threads / static_cast<int>(std::min<std::size_t>(jobs.size(), 1024)));
  for_each_index(jobs.size(), threads, 1, progress, [&](std::size_t k) {
    ComparedJob& compared = comparison.jobs[jobs[k]];
    TuneOptions tuning;
    tuning.advise_each_version = false;
    tuning.threads = of_search;
    tuning.replay = compared.replay;
    compared.best_cap = tune(compared.work->jobs.front(), tuning).recommended;
  });
}

}  // namespace ddpsim
