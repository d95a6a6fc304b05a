#include "ddpsim/sim/elastic/elastic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "ddpsim/sim/compare/money.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/limits.hpp"
#include "ddpsim/sim/values/split_mix.hpp"

namespace ddpsim {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr double kFailuresDue = 200;
constexpr double kYear = 365.25 * 24 * 3600;
constexpr double kLongestSeconds = 100 * kYear;  // RunTime holds 292 years
constexpr double kLongestWait = 10 * kYear;      // of which a few are added to a run

double in_seconds(RunTime time) {
  return static_cast<double>(time.count()) / kNanoseconds;
}
RunTime run_time(double seconds) {
  return RunTime(std::llround(std::min(seconds, kLongestSeconds) * kNanoseconds));
}

/// Strictly between 0 and 1.
double uniform(std::uint64_t& state) {
  return (static_cast<double>(next_random(state) >> 11) + 0.5) * 0x1p-53;
}
double exponential(double mean, std::uint64_t& state) {
  return -mean * elementary::log(uniform(state));
}

/// Of one run.
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

/// The same runs under other options or intervals.
class Runs {
 public:
  Runs(const ElasticQuestion& question, RunTime length, Progress* progress)
      : question_(question), length_(length), progress_(progress) {
    for (const Duration step : question.steps)
      steps_.push_back(RunTime(std::max<std::int64_t>(step.picoseconds() / 1000, 1)));
    failures_ = drawn(question.options);
  }

  std::int64_t steps_of(double interval) const {
    // An interval longer than any run is one without checkpoints.
    return std::max<std::int64_t>(
        std::llround(std::min(interval, kLongestSeconds) / step_seconds()), 1);
  }
  const std::vector<RunTime>& steps() const { return steps_; }
  double step_seconds() const { return in_seconds(steps_.back()); }

  std::vector<RunOutcome> outcomes(std::int64_t checkpoint_steps) const {
    return outcomes(question_.options, failures_, checkpoint_steps);
  }
  std::vector<RunOutcome> outcomes(const ElasticOptions& options,
                                   std::int64_t checkpoint_steps) const {
    return outcomes(options, drawn(options), checkpoint_steps);
  }

  const std::vector<double>& goodputs(std::int64_t checkpoint_steps) {
    std::vector<double>& known = goodputs_[checkpoint_steps];
    if (!known.empty()) return known;
    known = goodputs_of(outcomes(checkpoint_steps));
    // The intervals that search_intervals tries, and its answer; some round to the same steps.
    constexpr std::size_t kTried = 30;
    if (progress_ != nullptr) progress_->go_on(std::min(goodputs_.size(), kTried), kTried);
    return known;
  }
  static std::vector<double> goodputs_of(const std::vector<RunOutcome>& outcomes) {
    std::vector<double> all;
    for (const RunOutcome& outcome : outcomes) all.push_back(outcome.goodput());
    return all;
  }
  /// Tried so far, shortest first.
  const std::map<std::int64_t, std::vector<double>>& tried() const { return goodputs_; }

 private:
  using Drawn = std::vector<std::vector<NodeFailure>>;

  Drawn drawn(const ElasticOptions& options) const {
    Drawn all;
    for (int i = 0; i < question_.seeds; ++i)
      all.push_back(draw_failures(options, question_.node_mtbf_seconds, length_,
                                  question_.seed + static_cast<std::uint64_t>(i)));
    return all;
  }
  std::vector<RunOutcome> outcomes(const ElasticOptions& options, const Drawn& failures,
                                   std::int64_t checkpoint_steps) const {
    std::vector<RunOutcome> all;
    for (const std::vector<NodeFailure>& of_seed : failures)
      all.push_back(simulate_run(options, steps_, checkpoint_steps, of_seed, length_));
    return all;
  }

  const ElasticQuestion& question_;
  const RunTime length_;
  Progress* const progress_;
  std::vector<RunTime> steps_;
  Drawn failures_;
  std::map<std::int64_t, std::vector<double>> goodputs_;
};

double mean_goodput(const std::vector<double>& values) {
  return sampled(values).mean;
}

/// The greatest mean of those tried; of equal ones the longest interval.
std::int64_t best_tried(const Runs& runs) {
  std::int64_t best = 0;
  double most = -1;
  for (const auto& [steps, goodputs] : runs.tried())
    if (const double mean = mean_goodput(goodputs); mean >= most) {
      most = mean;
      best = steps;
    }
  return best;
}

/// The interval at which  loss = a / interval + b * interval + c,  fitted by least squares to those tried within an octave of `best`,
/// is least: Young's formula with the failures and costs of these runs. A draw that favours one interval hardly moves it.
/// Absent where the loss of those tried has no such valley.
std::optional<double> least_loss(const Runs& runs, std::int64_t best) {
  // Normal equations of x = best / interval, 1 / x and 1.
  std::array<std::array<double, 4>, 3> rows{};
  for (const auto& [steps, goodputs] : runs.tried()) {
    const double x = static_cast<double>(best) / static_cast<double>(steps);
    if (x < 0.5 || x > 2) continue;
    const std::array<double, 4> terms = {x, 1 / x, 1, 1 - mean_goodput(goodputs)};
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::size_t k = 0; k < terms.size(); ++k) rows[row][k] += terms[row] * terms[k];
  }
  const auto determinant = [&](std::size_t a, std::size_t b, std::size_t c) {
    return rows[0][a] * (rows[1][b] * rows[2][c] - rows[1][c] * rows[2][b]) -
           rows[0][b] * (rows[1][a] * rows[2][c] - rows[1][c] * rows[2][a]) +
           rows[0][c] * (rows[1][a] * rows[2][b] - rows[1][b] * rows[2][a]);
  };
  // Cramer's rule; both coefficients have the same, positive, denominator.
  const double checkpoints = determinant(3, 1, 2);
  const double lost_work = determinant(0, 3, 2);
  if (checkpoints <= 0 || lost_work <= 0) return std::nullopt;
  const double interval = std::sqrt(checkpoints / lost_work);
  if (interval < 0.5 || interval > 2) return std::nullopt;
  return interval * static_cast<double>(best) * runs.step_seconds();
}

/// Around `centre`, coarsely and then finely around the best. Some of those tried are lucky: what all of them say decides.
std::int64_t search_intervals(Runs& runs, double centre) {
  constexpr int kCoarse = 8;  // half octaves to each side
  for (int i = -kCoarse; i <= kCoarse; ++i)
    runs.goodputs(runs.steps_of(centre * elementary::exp2(i / 2.0)));
  constexpr int kRounds = 2;
  double octaves = 0.25;
  for (int round = 0; round < kRounds; ++round, octaves /= 4) {
    const double best = static_cast<double>(best_tried(runs)) * runs.step_seconds();
    for (const double i : {-1.5, -1.0, -0.5, 0.5, 1.0, 1.5})
      runs.goodputs(runs.steps_of(best * elementary::exp2(i * octaves)));
  }
  const std::int64_t best = best_tried(runs);
  const std::optional<double> smooth = least_loss(runs, best);
  return smooth ? runs.steps_of(*smooth) : best;
}

/// Those tried about the best whose goodput differs from its, seed by seed, by no more than the standard error of that.
void set_plateau(const Runs& runs, std::int64_t best, ElasticAnswer& answer) {
  const std::vector<double>& most = runs.tried().at(best);
  const auto alike = [&](const std::vector<double>& other) {
    std::vector<double> behind;
    for (std::size_t i = 0; i < other.size(); ++i) behind.push_back(most[i] - other[i]);
    const Sampled difference = sampled(behind);
    return difference.mean <= difference.standard_error;
  };
  answer.best_low = answer.best_high = answer.best_interval;
  const auto found = runs.tried().find(best);
  for (auto next = std::next(found); next != runs.tried().end() && alike(next->second); ++next)
    answer.best_high = static_cast<double>(next->first) * runs.step_seconds();
  for (auto next = found; next != runs.tried().begin() && alike(std::prev(next)->second); --next)
    answer.best_low = static_cast<double>(std::prev(next)->first) * runs.step_seconds();
}

struct TimeKey {
  const char* key;
  RunTime ElasticOptions::*time;
};
constexpr TimeKey kTimes[] = {
    {"timeout", &ElasticOptions::timeout},      {"stop", &ElasticOptions::stop},
    {"start", &ElasticOptions::start},          {"load", &ElasticOptions::load},
    {"repair", &ElasticOptions::repair},        {"resubmit", &ElasticOptions::resubmit},
    {"checkpoint", &ElasticOptions::checkpoint}};

ElasticSensitivity sensitivity_to(const std::string& key, const Runs& runs,
                                  const ElasticOptions& options, std::int64_t checkpoint_steps) {
  const auto goodput_at = [&](const std::function<void(ElasticOptions&)>& change) {
    ElasticOptions changed = options;
    change(changed);
    return mean_goodput(Runs::goodputs_of(runs.outcomes(changed, checkpoint_steps)));
  };
  for (const TimeKey& time : kTimes)
    if (key == time.key)
      return {.key = key,
              .value = in_seconds(options.*time.time),
              .half = goodput_at([&](ElasticOptions& o) { o.*time.time /= 2; }),
              .twice = goodput_at([&](ElasticOptions& o) { o.*time.time *= 2; })};
  DDPSIM_ASSERT(key == "process_share", "an option that is assumed has a sensitivity");
  return {.key = key,
          .value = options.process_share,
          .half = goodput_at([](ElasticOptions& o) { o.process_share /= 2; }),
          .twice = goodput_at(
              [](ElasticOptions& o) { o.process_share = std::min(1.0, 2 * o.process_share); })};
}

void add_means(const std::vector<RunOutcome>& outcomes, ElasticAnswer& answer) {
  const auto count = static_cast<double>(outcomes.size());
  answer.trained.assign(answer.asked.steps.size(), 0);
  double pauses = 0;
  double interrupted = 0;
  for (const RunOutcome& outcome : outcomes) {
    for (std::size_t part = 0; part < kRunParts; ++part)
      answer.parts[part] += in_seconds(outcome.parts[part]) / count;
    for (std::size_t size = 0; size < outcome.trained.size(); ++size)
      answer.trained[size] += in_seconds(outcome.trained[size]) / count;
    answer.failures += static_cast<double>(outcome.failures) / count;
    answer.restarts += static_cast<double>(outcome.restarts) / count;
    answer.membership_changes += static_cast<double>(outcome.membership_changes) / count;
    answer.ended += static_cast<double>(outcome.ended) / count;
    for (std::size_t end = 0; end < kRunEnds; ++end)
      answer.ended_by[end] += static_cast<double>(outcome.ended_by[end]) / count;
    for (const RunPart part : {RunPart::detection, RunPart::stop, RunPart::rendezvous,
                               RunPart::waiting, RunPart::start, RunPart::load, RunPart::ended})
      pauses += in_seconds(outcome[part]);
    interrupted += static_cast<double>(outcome.failures);
  }
  if (interrupted > 0) answer.pause = pauses / interrupted;
}

/// The last node fails alone, long before the run's end.
RunOutcome after_one_failure(ElasticOptions options, const std::vector<RunTime>& steps,
                             bool process, RunTime repair, RunTime length) {
  options.repair = repair;
  return simulate_run(options, steps, 1,
                      {{.at = steps.back(), .node = options.max_nodes - 1, .process = process}},
                      length);
}

std::vector<ElasticRestart> restarts_of(const ElasticOptions& options,
                                        const std::vector<RunTime>& steps) {
  using After = ElasticRestart::After;
  constexpr RunTime kLong = std::chrono::hours(24 * 365);
  const auto restart = [](After after, const RunOutcome& outcome) {
    ElasticRestart found{.after = after, .ends_job = outcome.ended > 0};
    for (const RunPart part : {RunPart::detection, RunPart::stop, RunPart::rendezvous,
                               RunPart::waiting, RunPart::start, RunPart::load, RunPart::ended})
      found.parts[static_cast<std::size_t>(part)] = in_seconds(outcome[part]);
    return found;
  };
  std::vector<ElasticRestart> all = {
      restart(After::process, after_one_failure(options, steps, true, kLong, kLong / 2))};
  if (options.min_nodes == options.max_nodes) {
    all.push_back(
        restart(After::lost_node, after_one_failure(options, steps, false, options.repair, kLong)));
    return all;
  }
  const RunOutcome lost = after_one_failure(options, steps, false, kLong, kLong / 2);
  all.push_back(restart(After::lost_node, lost));
  ElasticRestart come =
      restart(After::new_node, after_one_failure(options, steps, false, kLong / 2, kLong));
  for (std::size_t part = 0; part < kRunParts; ++part) come.parts[part] -= all.back().parts[part];
  come.ends_job = false;
  all.push_back(come);
  return all;
}

}  // namespace

const char* name_of(ElasticRestart::After after) {
  switch (after) {
    case ElasticRestart::After::process:
      return "process";
    case ElasticRestart::After::lost_node:
      return "lost_node";
    case ElasticRestart::After::new_node:
      return "new_node";
  }
  return "";
}

std::vector<NodeFailure> draw_failures(const ElasticOptions& options, double node_mtbf_seconds,
                                       RunTime length, std::uint64_t seed) {
  std::vector<NodeFailure> all;
  const double end = in_seconds(length);
  for (int node = 0; node < options.max_nodes; ++node) {
    std::uint64_t state = mixed(mixed(seed + kSplitMixGamma) +
                                kSplitMixGamma * (static_cast<std::uint64_t>(node) + 1));
    std::uint64_t repairs = mixed(state);  // numbers of their own: failures stay where they are
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

ElasticAnswer simulate_elastic(const ElasticQuestion& question, Progress* progress) {
  const ElasticOptions& options = question.options;
  const double mtbf = question.node_mtbf_seconds / options.max_nodes;
  ElasticAnswer answer;
  answer.asked = question;
  answer.length = length_of(question);
  Runs runs(question, answer.length, progress);
  const double checkpoint = in_seconds(options.checkpoint);
  const Failures daly{.node_mtbf_hours = question.node_mtbf_seconds / 3600,
                      .restart_seconds = 0,
                      .checkpoint_seconds = checkpoint};
  answer.young_interval = std::sqrt(2 * checkpoint * mtbf);
  answer.daly_interval = goodput(daly, options.max_nodes).checkpoint_every_seconds;

  // Checkpoints that cost nothing are taken after every step.
  const std::int64_t best =
      checkpoint > 0 ? search_intervals(runs, answer.daly_interval) : runs.steps_of(0);
  answer.best_interval = static_cast<double>(best) * runs.step_seconds();
  answer.best_goodput = mean_goodput(runs.goodputs(best));
  set_plateau(runs, best, answer);

  const std::int64_t every = question.checkpoint_interval
                                 ? runs.steps_of(in_seconds(*question.checkpoint_interval))
                                 : best;
  answer.interval = static_cast<double>(every) * runs.step_seconds();
  const std::vector<RunOutcome> outcomes = runs.outcomes(every);
  answer.goodput = sampled(Runs::goodputs_of(outcomes));
  add_means(outcomes, answer);

  answer.goodput_at_daly = sampled(runs.goodputs(runs.steps_of(answer.daly_interval)));
  Failures with_pause = daly;
  with_pause.restart_seconds = answer.pause;
  answer.daly_goodput = goodput(with_pause, options.max_nodes).share;
  answer.interruptions = restarts_of(options, runs.steps());
  for (const std::string& key : question.assumed)
    answer.sensitivity.push_back(sensitivity_to(key, runs, options, every));
  return answer;
}

std::string why_not_elastic(const ElasticOptions& options) {
  if (options.last_call_timeout >= options.join_timeout)
    return "last_call_timeout must be less than join_timeout: no round of fewer than MAX nodes "
           "would be complete";
  if (in_seconds(options.keep_alive_interval) * options.keep_alive_max_attempt > kLongestWait)
    return fmt::format("keep_alive_interval x keep_alive_max_attempt is longer than {:.0f} years",
                       kLongestWait / kYear);
  return "";
}

std::string why_not_elastic(const ElasticQuestion& question) {
  const ElasticOptions& options = question.options;
  const RunTime length = length_of(question);
  const double seconds = in_seconds(length);
  if (length <= RunTime())
    return fmt::format(
        "a node fails every {:.3g} s, so that a run of {:.0f} failures takes no time",
        question.node_mtbf_seconds, kFailuresDue);
  const double failures = question.seeds * seconds * options.max_nodes / question.node_mtbf_seconds;
  if (failures > kMostRunFailures)
    return fmt::format(
        "{} runs of {:.4g} s on {} nodes, each failing every {:.4g} s, have {:.4g} failures, and "
        "the limit is {:.0f}; lower length or seeds",
        question.seeds, seconds, options.max_nodes, question.node_mtbf_seconds, failures,
        kMostRunFailures);
  const double job = in_seconds(options.join_timeout + options.resubmit);
  const double longest = std::max(seconds, kYear);  // one failure is simulated for a year, too
  if (longest / job > kMostResubmissions)
    return fmt::format(
        "a job that finds too few nodes ends after {:.4g} s (join_timeout and resubmit), up to "
        "{:.4g} times in a run, and the limit is {:.0f}; raise one of the two, or lower length",
        job, longest / job, kMostResubmissions);
  // Training is counted as if at the speed of MAX nodes, in 63 bits of nanoseconds.
  for (std::size_t k = 0; k < question.steps.size(); ++k) {
    const double nodes = options.min_nodes + static_cast<double>(k);
    const double speed = nodes / options.max_nodes * (question.steps.back() / question.steps[k]);
    constexpr double kMostCounted = 250 * kYear;
    if (seconds * speed > kMostCounted)
      return fmt::format(
          "{:.0f} nodes train {:.3g} times as fast as {}, too fast for a run of {:.3g} years; "
          "lower "
          "length",
          nodes, speed, options.max_nodes, seconds / kYear);
  }
  return "";
}

}  // namespace ddpsim
