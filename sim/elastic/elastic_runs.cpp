#include "elastic_runs.hpp"

#include <algorithm>
#include <cmath>

#include "ddpsim/sim/engine/parallel.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/split_mix.hpp"

namespace ddpsim {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr int kEveryCore = 0;
// A run of 200 failures takes less time than the start of a thread.
constexpr std::size_t kLeastRunsOfAThread = 64;
constexpr double kLongestSeconds = 100 * kYear;  // RunTime holds 292 years

RunTime run_time(double seconds) {
  return RunTime(std::llround(std::min(seconds, kLongestSeconds) * kNanoseconds));
}

/// A number strictly between 0 and 1.
double uniform(std::uint64_t& state) {
  return (static_cast<double>(next_random(state) >> 11) + 0.5) * 0x1p-53;
}
double exponential(double mean, std::uint64_t& state) {
  return -mean * elementary::log(uniform(state));
}

}  // namespace

double in_seconds(RunTime time) {
  return static_cast<double>(time.count()) / kNanoseconds;
}

RunTime length_of(const ElasticQuestion& question) {
  const double mtbf = question.node_mtbf_seconds / question.options.max_nodes;
  return question.length.value_or(run_time(kFailuresDue * mtbf));
}

Sampled sampled(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Sampled result;
  for (const double value : values) result.mean += value / count;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (count - 1));
  result.standard_error = result.deviation / std::sqrt(count);
  return result;
}

double mean_goodput(const std::vector<double>& values) {
  return sampled(values).mean;
}

ElasticRuns::ElasticRuns(const ElasticQuestion& question, RunTime length, Progress* progress)
    : question_(question), length_(length), progress_(progress) {
  for (const Duration step : question.steps)
    steps_.push_back(RunTime(std::max<std::int64_t>(step.picoseconds() / 1000, 1)));
  failures_ = drawn(question.options);
}

std::int64_t ElasticRuns::steps_of(double interval) const {
  // An interval longer than any run means no checkpoints.
  return std::max<std::int64_t>(std::llround(std::min(interval, kLongestSeconds) / step_seconds()),
                                1);
}

const std::vector<double>& ElasticRuns::goodputs(std::int64_t checkpoint_steps) {
  std::vector<double>& known = goodputs_[checkpoint_steps];
  if (!known.empty()) return known;
  known = goodputs_of(outcomes(checkpoint_steps));
  // Number of intervals that search_intervals tries, with its answer. Some round to the same steps.
  constexpr std::size_t kTried = 30;
  if (progress_ != nullptr) progress_->go_on(std::min(goodputs_.size(), kTried), kTried);
  return known;
}

std::vector<double> ElasticRuns::goodputs_of(const std::vector<RunOutcome>& outcomes) {
  std::vector<double> all;
  for (const RunOutcome& outcome : outcomes) all.push_back(outcome.goodput());
  return all;
}

ElasticRuns::Drawn ElasticRuns::drawn(const ElasticOptions& options) const {
  Drawn all(static_cast<std::size_t>(question_.seeds));
  for_each_index(all.size(), kEveryCore, kLeastRunsOfAThread, [&](std::size_t i) {
    all[i] = draw_failures(options, question_.node_mtbf_seconds, length_, question_.seed + i);
  });
  return all;
}

std::vector<RunOutcome> ElasticRuns::outcomes(const ElasticOptions& options, const Drawn& failures,
                                              std::int64_t checkpoint_steps) const {
  std::vector<RunOutcome> all(failures.size());
  for_each_index(all.size(), kEveryCore, kLeastRunsOfAThread, [&](std::size_t i) {
    all[i] = simulate_run(options, steps_, checkpoint_steps, failures[i], length_);
  });
  return all;
}

std::vector<NodeFailure> draw_failures(const ElasticOptions& options, double node_mtbf_seconds,
                                       RunTime length, std::uint64_t seed) {
  std::vector<NodeFailure> all;
  const double end = in_seconds(length);
  for (int node = 0; node < options.max_nodes; ++node) {
    std::uint64_t state = mixed(mixed(seed + kSplitMixGamma) +
                                kSplitMixGamma * (static_cast<std::uint64_t>(node) + 1));
    // The lengths of repairs are drawn from random numbers of their own. So the random numbers of
    // failures do not depend on how many nodes need a repair.
    std::uint64_t repairs = mixed(state);
    double at = 0;
    while (true) {
      at += exponential(node_mtbf_seconds, state);
      const bool process = uniform(state) < options.process_share;
      if (at >= end) break;
      NodeFailure& failure = all.emplace_back(NodeFailure{run_time(at), node, process});
      if (process) continue;
      const double repair = exponential(in_seconds(options.repair), repairs);
      failure.repair = run_time(repair);
      at += repair;
    }
  }
  std::ranges::stable_sort(all, {}, &NodeFailure::at);
  return all;
}

}  // namespace ddpsim
