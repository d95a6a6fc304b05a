#include "compare_outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/job_warnings.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/ddp/scheme_notes.hpp"

namespace ddpsim {
namespace {

/// Returns how much is to be trained: --samples or --steps.
std::optional<Training> training(const CompareArguments& arguments,
                                 const std::vector<LoadedCandidate>& jobs) {
  if (!arguments.samples && !arguments.steps) return std::nullopt;
  std::vector<double> samples;
  for (const LoadedCandidate& job : jobs) {
    const std::optional<double> own = step_work(job.loaded.job).samples;
    if (!own)
      throw UsageError("--samples, --steps", "the workload does not state its batch",
                       "Add --batch");
    samples.push_back(*own);
  }
  if (arguments.samples) return Training{.samples = *arguments.samples};
  if (std::ranges::adjacent_find(samples, std::ranges::not_equal_to()) != samples.end())
    throw UsageError("--steps", "steps have different numbers of samples on the candidates",
                     "Add --global-batch, or use --samples");
  return Training{.samples = *arguments.steps * samples.front(), .of_steps = true};
}

/// Says that no candidate runs all workloads, and why the first does not.
[[noreturn]] void fail_nowhere(const std::vector<NotCompared>& failed) {
  throw InputError({.file = "command line",
                    .where = "",
                    .message = fmt::format("no candidate runs all workloads; {}: {}",
                                           failed.front().label, failed.front().error),
                    .hint = "Compare the workloads one by one, or leave one out"});
}

Holds ahead_by(const Speedup& speedup) {
  return {.predicted = speedup.percent > 0,
          .possible = speedup.percent > 0 || speedup.high_percent > 0,
          .certain = speedup.certain()};
}
/// Returns whether the slower one of two candidates is faster, which is possible but never predicted.
Holds behind_by(const Speedup& speedup) {
  return {.predicted = false, .possible = speedup.low_percent < 0, .certain = false};
}

}  // namespace

CompareOutcome::CompareOutcome(const CompareArguments& arguments, const JobRequest& request,
                               const std::vector<ReadWorkload>& workloads,
                               std::vector<Candidate> candidates, GpuSettings& gpus,
                               MeasuredTexts& measured, const ClusterReaders& readers,
                               Progress* progress)
    : candidates_(std::move(candidates)) {
  JobRequest own = request;
  for (const ReadWorkload& read : workloads) {
    own.workload.source = read.weighed.text;
    workloads_.push_back(compare_workload(arguments, own, read.loaded, workloads.size() > 1,
                                          candidates_, gpus, measured, readers, progress));
  }
  if (several()) mix_all(workloads);
  if (!several()) simulate_runs(arguments, workloads.front());
  count_costs(arguments);
}

void CompareOutcome::mix_all(const std::vector<ReadWorkload>& read) {
  std::set<std::size_t> failing;
  for (std::size_t k = 0; k < workloads_.size(); ++k) {
    const WorkloadComparison& workload = workloads_[k];
    for (std::size_t i = 0; i < workload.failed.size(); ++i) {
      if (!failing.insert(workload.failed[i]).second) continue;
      NotCompared failed = workload.report.not_compared[i];
      failed.error = fmt::format("{}: {}", read[k].weighed.text, failed.error);
      mix_.not_compared.push_back(std::move(failed));
    }
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (!failing.contains(i)) mixed_.push_back(i);
  if (mixed_.empty()) fail_nowhere(mix_.not_compared);
  if (mixed_.front() != 0)
    mix_.warnings.push_back(
        fmt::format("shares refer to the time on {}, because the first candidate, {}, does not run "
                    "all workloads",
                    candidates_[mixed_.front()].label, candidates_.front().label));
  std::vector<std::vector<WorkTime>> works;
  std::vector<double> shares;
  for (std::size_t k = 0; k < workloads_.size(); ++k) {
    shares.push_back(read[k].weighed.share);
    std::vector<WorkTime>& own = works.emplace_back();
    for (const std::size_t candidate : mixed_) {
      own.push_back(*workloads_[k].report.comparison.jobs[*workloads_[k].job_of(candidate)].work);
      if (own.back().expected <= 0)
        throw UsageError(fmt::format("--workload {}", read[k].weighed.text),
                         "a step of it takes no time, so it has no share of the time",
                         "Leave it out");
    }
  }
  mix_.mix = ddpsim::mix(works, shares, mix_.reference);
  for (const std::size_t candidate : mixed_) {
    MixLabel label{
        .label = candidates_[candidate].label,
        .cluster_text = candidates_[candidate].cluster,
        .ranks = 1,
        .grade = Grade::a,
    };
    for (const WorkloadComparison& workload : workloads_) {
      const std::size_t job = *workload.job_of(candidate);
      const ReportContext& context = workload.report.contexts[job];
      label.ranks = context.job.cluster().ranks();
      if (label.changed_numerics.empty()) label.changed_numerics = changed_numerics(context.job);
      label.grade = std::max(label.grade, workload.report.comparison.jobs[job].confidence.grade);
    }
    mix_.labels.push_back(std::move(label));
  }
}

bool CompareOutcome::all_compared() const {
  return std::ranges::all_of(workloads_, [](const WorkloadComparison& workload) {
    return workload.report.not_compared.empty();
  });
}

std::vector<TimedWork> CompareOutcome::works() const {
  return several() ? timed_works(mix_.mix) : timed_works(workloads_.front().report.comparison);
}

void CompareOutcome::simulate_runs(const CompareArguments& arguments, const ReadWorkload& read) {
  if (!arguments.elastic.nnodes) return;
  WorkloadComparison& only = workloads_.front();
  for (std::size_t i = 0; i < only.jobs.size(); ++i) {
    const LoadedCandidate& job = only.jobs[i];
    const int nodes = job.loaded.job.cluster().hosts();
    ElasticQuestion question =
        *elastic_question(arguments.elastic, arguments.money, &job.candidate);
    if (question.options.max_nodes < nodes || question.options.min_nodes > nodes)
      throw UsageError(
          fmt::format("--nnodes {}", *arguments.elastic.nnodes),
          fmt::format(
              "{} has {}, on which it trains until one fails; MIN:MAX must include that number",
              job.candidate.label, nodes == 1 ? "one node" : fmt::format("{} nodes", nodes)));
    question.options.max_nodes = nodes;
    only.report.contexts[i].elastic =
        elastic_answer(question, job.loaded, only.report.comparison.jobs[i].times.iteration,
                       job.request, read.loaded);
  }
}

void CompareOutcome::count_costs(const CompareArguments& arguments) {
  std::vector<const Cluster*> clusters(candidates_.size(), nullptr);
  for (const WorkloadComparison& workload : workloads_)
    for (std::size_t i = 0; i < workload.jobs.size(); ++i)
      clusters[workload.places[i]] = &workload.jobs[i].loaded.job.cluster();
  require_sound_money(arguments.money, candidates_);
  const std::vector<std::optional<Price>> all = prices(arguments.money, candidates_, clusters);
  const std::vector<std::size_t>& places = several() ? mixed_ : workloads_.front().places;
  std::vector<CandidateMoney> money;
  for (const std::size_t place : places)
    money.push_back({.price = all[place],
                     .ownership = ownership(arguments.money, candidates_[place]),
                     .failures = failures(arguments.money, &candidates_[place])});
  if (!several())
    for (std::size_t i = 0; i < money.size(); ++i)
      if (const auto& run = workloads_.front().report.contexts[i].elastic)
        money[i].simulated = {.share = run->goodput.mean,
                              .checkpoint_every_seconds = run->interval,
                              .simulated = true};
  Costs costs = compare_costs(works(), money);
  std::optional<Costs>& kept = several() ? mix_.costs : workloads_.front().report.costs;
  if (!costs.by_cost.empty()) kept = std::move(costs);
  if (!several()) workloads_.front().report.training = training(arguments, workloads_.front().jobs);
}

void CompareOutcome::search_caps(int threads, Progress* progress) {
  for (WorkloadComparison& workload : workloads_) {
    const auto first = std::ranges::find_if(workload.jobs, [](const LoadedCandidate& job) {
      return uses_reducer(job.loaded.job.options().scheme);
    });
    if (first == workload.jobs.end()) continue;
    const Job& reduced = first->loaded.job;
    require_searchable(first->loaded, "Add --no-tune to skip the search for caps");
    if (!reduced.options().ddp().bucket_cap_mb_list.empty() || !why_no_cap(reduced).empty())
      continue;
    std::vector<std::size_t> jobs;
    if (several())
      for (const std::size_t row : contenders(mix_.mix))
        jobs.push_back(*workload.job_of(mixed_[row]));
    else
      jobs = contenders(workload.report.comparison);
    std::erase_if(jobs, [&](std::size_t job) {
      return !uses_reducer(workload.jobs[job].loaded.job.options().scheme);
    });
    ddpsim::search_caps(workload.report.comparison, jobs, threads, progress);
  }
}

MixReport CompareOutcome::mix_report(const std::vector<ReadWorkload>& read) {
  for (std::size_t k = 0; k < workloads_.size(); ++k) {
    CompareReport& report = workloads_[k].report;
    for (const std::string& warning : report.contexts.front().trust.warnings.texts()) {
      std::vector<std::string>& all = mix_.warnings;
      if (std::ranges::find(all, warning) == all.end()) all.push_back(warning);
    }
    mix_.workloads.push_back({read[k].weighed.text, read[k].weighed.share, std::move(report)});
  }
  return std::move(mix_);
}

std::optional<std::size_t> CompareOutcome::row(std::size_t workload, std::size_t candidate,
                                               bool of_mix) const {
  if (!several() || !of_mix) return workloads_[workload].job_of(candidate);
  const auto found = std::ranges::find(mixed_, candidate);
  if (found == mixed_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - mixed_.begin());
}

std::optional<FigureRange> CompareOutcome::figure(CandidateFigure figure, std::size_t workload,
                                                  std::size_t candidate) const {
  if (figure == CandidateFigure::usd) {
    const auto found = row(workload, candidate, true);
    if (!found || !costs() || !costs()->candidates[*found]) return std::nullopt;
    constexpr double kHour = 3600;
    const double work = several() ? kHour : amount_of(workloads_.front().report).of_work;
    return costs()->candidates[*found]->usd_per_work.times(work);
  }
  const WorkloadComparison& own = workloads_[workload];
  const auto job = own.job_of(candidate);
  if (!job) return std::nullopt;
  const ComparedJob& compared = own.report.comparison.jobs[*job];
  if (figure == CandidateFigure::efficiency) return compared.efficiency_range;
  const double step = compared.times.iteration.seconds();
  const FigureRange steps{step * (1 + compared.confidence.low_percent / 100), step,
                          step * (1 + compared.confidence.high_percent / 100)};
  if (figure == CandidateFigure::step) return steps;
  const std::optional<double> samples = step_work(own.report.contexts[*job].job).samples;
  if (!samples || steps.low <= 0) return std::nullopt;
  return steps.inverse().times(*samples);
}

std::optional<Holds> CompareOutcome::is_ahead(std::size_t candidate, std::size_t other,
                                              bool in_cost) const {
  const auto a = row(0, candidate, true);
  const auto b = row(0, other, true);
  if (!a || !b) return std::nullopt;
  const std::vector<TimedWork> all = works();
  if (!in_cost) {
    const WorkTime& own = *all[*a].work;
    const WorkTime& others = *all[*b].work;
    return own.expected <= others.expected ? ahead_by(speedup(own, others))
                                           : behind_by(speedup(others, own));
  }
  if (!costs() || !costs()->candidates[*a] || !costs()->candidates[*b]) return std::nullopt;
  const auto usd = [&](std::size_t i) { return costs()->candidates[i]->usd_per_work.value; };
  return usd(*a) <= usd(*b) ? ahead_by(cheaper_by(*costs(), all, *a, *b))
                            : behind_by(cheaper_by(*costs(), all, *b, *a));
}

}  // namespace ddpsim
