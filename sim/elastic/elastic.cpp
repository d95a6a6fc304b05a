#include "ddpsim/sim/elastic/elastic.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "checkpoint_search.hpp"
#include "ddpsim/sim/compare/money.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "elastic_runs.hpp"

namespace ddpsim {
namespace {

struct TimeKey {
  const char* key;
  RunTime ElasticOptions::*time;
};
constexpr TimeKey kTimes[] = {
    {"timeout", &ElasticOptions::timeout},      {"stop", &ElasticOptions::stop},
    {"start", &ElasticOptions::start},          {"load", &ElasticOptions::load},
    {"repair", &ElasticOptions::repair},        {"resubmit", &ElasticOptions::resubmit},
    {"checkpoint", &ElasticOptions::checkpoint}};

ElasticSensitivity sensitivity_to(const std::string& key, const ElasticRuns& runs,
                                  const ElasticOptions& options, std::int64_t checkpoint_steps) {
  const auto goodput_at = [&](const std::function<void(ElasticOptions&)>& change) {
    ElasticOptions changed = options;
    change(changed);
    return mean_goodput(ElasticRuns::goodputs_of(runs.outcomes(changed, checkpoint_steps)));
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

/// A run in which only the last node fails, long before the run's end.
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

ElasticAnswer simulate_elastic(const ElasticQuestion& question, Progress* progress) {
  const ElasticOptions& options = question.options;
  const double mtbf = question.node_mtbf_seconds / options.max_nodes;
  ElasticAnswer answer;
  answer.asked = question;
  answer.length = length_of(question);
  ElasticRuns runs(question, answer.length, progress);
  const double checkpoint = in_seconds(options.checkpoint);
  const Failures daly{.node_mtbf_hours = question.node_mtbf_seconds / 3600,
                      .restart_seconds = 0,
                      .checkpoint_seconds = checkpoint};
  answer.young_interval = std::sqrt(2 * checkpoint * mtbf);
  answer.daly_interval = goodput(daly, options.max_nodes).checkpoint_every_seconds;

  // Checkpoints without cost are taken after every step.
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
  answer.goodput = sampled(ElasticRuns::goodputs_of(outcomes));
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

}  // namespace ddpsim
