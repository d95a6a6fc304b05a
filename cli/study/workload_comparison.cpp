#include "workload_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/measured_step.hpp"
#include "ddpsim/jobs/replay.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "job_report.hpp"

namespace ddpsim {
namespace {

/// Returns each warning once, those that could overturn the answer first. A warning that holds for some candidates and does not name
/// its cluster gets their labels.
Warnings common_warnings(const std::vector<LoadedCandidate>& jobs) {
  std::vector<std::string> texts;
  std::map<std::string, std::vector<std::string>> labels;
  std::map<std::string, bool> named;
  const auto take = [&](bool overturning) {
    for (const LoadedCandidate& job : jobs) {
      const std::string& label = job.candidate.label;
      const Warnings& own = job.loaded.trust.warnings;
      for (std::size_t i = overturning ? 0 : own.overturning();
           i < (overturning ? own.overturning() : own.texts().size()); ++i) {
        const std::string& warning = own.texts()[i];
        std::vector<std::string>& whose = labels[warning];
        if (whose.empty()) texts.push_back(warning);
        named[warning] = warning.find(job.loaded.job.cluster().name) != std::string::npos;
        if (whose.empty() || whose.back() != label) whose.push_back(label);
      }
    }
  };
  take(true);
  const std::size_t overturning = texts.size();
  take(false);
  for (std::string& text : texts) {
    const std::vector<std::string>& whose = labels[text];
    if (whose.size() == jobs.size() || named[text]) continue;
    text = whose.size() == 1
               ? fmt::format("{}: {}", whose.front(), text)
               : fmt::format("{} and {} more: {}", whose.front(), whose.size() - 1, text);
  }
  return {std::move(texts), overturning};
}

/// Returns the measured step of each job.
std::vector<std::optional<MeasuredStep>> measured_steps(MeasuredTexts& given,
                                                        const std::string& workload,
                                                        std::vector<LoadedCandidate>& jobs) {
  std::vector<std::optional<MeasuredStep>> measured(jobs.size());
  const auto take = [&](std::size_t i, const std::string& step) {
    if (measured[i])
      throw UsageError("--measured-step",
                       fmt::format("{} is given twice", jobs[i].candidate.label));
    BuiltJob& loaded = jobs[i].loaded;
    measured[i] = read_measured_step(parse_measured_step(step), samples_of_step(loaded.job),
                                     loaded.trust.warnings);
    require_possible(*measured[i], loaded.job, loaded.provenance.workload_source);
  };
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].candidate.measured_step) take(i, *jobs[i].candidate.measured_step);
  for (std::size_t k = 0; k < given.texts.size(); ++k) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {  // a cluster may be given twice
      const auto step = MeasuredTexts::step_of(given.texts[k], workload, jobs[i].candidate);
      if (!step) continue;
      take(i, *step);
      given.taken[k] = true;
    }
  }
  return measured;
}

/// Shortens the recorded waits of all candidates as far as a measured step shows that they are too long.
void shorten_recorded_waits(const std::vector<std::optional<MeasuredStep>>& measured,
                            std::vector<LoadedCandidate>& jobs) {
  std::optional<Recorded> before;
  std::optional<Workload> left;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!measured[i]) continue;
    BuiltJob& loaded = jobs[i].loaded;
    loaded.measured_step = measured[i];
    const Recorded recorded = loaded.job.workload();
    const std::optional<std::string> said = without_recorded_waits(loaded);
    if (!said) continue;
    loaded.trust.warnings.add(*said);
    if (left) continue;
    before = recorded;
    left = loaded.job.workload();
  }
  for (std::size_t i = 0; left && i < jobs.size(); ++i)
    if (Job& job = jobs[i].loaded.job; !measured[i] && job.workload() == *before)
      job = job.with(*left);
}

/// Returns the samples of a step of each job; empty if a workload does not state its batch.
std::vector<double> samples_of_steps(const std::vector<LoadedCandidate>& jobs) {
  std::vector<double> samples;
  for (const LoadedCandidate& job : jobs) {
    const std::optional<double> own = step_work(job.loaded.job).samples;
    if (!own) return {};
    samples.push_back(*own);
  }
  return samples;
}

/// Warns about predictions for the same GPU that a measured step does not correct, although it differs from its own prediction. A
/// correction for one node does not apply to several nodes, nor the reverse.
void warn_of_uncorrected(const Comparison& comparison, std::vector<LoadedCandidate>& jobs) {
  for (std::size_t from = 0; from < jobs.size(); ++from) {
    const std::optional<Replay>& replay = comparison.jobs[from].replay;
    if (!comparison.jobs[from].correction || replay->reproduced()) continue;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const ComparedJob& other = comparison.jobs[i];
      const Job& job = jobs[i].loaded.job;
      if (other.replay || other.corrected_by ||
          job.cluster().gpu.name != jobs[from].loaded.job.cluster().gpu.name)
        continue;
      jobs[i].loaded.trust.warnings.overturn(fmt::format(
          "the measured step of {} is {:+.0f} % off its prediction, which corrects no other number "
          "of nodes. The step of {} stays as predicted, so measure it, too",
          jobs[from].candidate.label, 100 * (replay->measured / replay->predicted - 1),
          jobs[i].candidate.label));
    }
  }
}

/// Loads the candidates one by one. A candidate that cannot be compared becomes a row with its reason, unless none can.
class Reading {
 public:
  Reading(const CompareArguments& arguments, const JobRequest& request,
          const LoadedWorkload& workload, GpuSettings& gpus, const ClusterReaders& readers)
      : arguments_(arguments),
        request_(request),
        workload_(workload),
        gpus_(gpus),
        readers_(readers) {}

  void read(const Candidate& candidate, std::size_t place) {
    NotCompared failed{.label = candidate.label,
                       .cluster_text = candidate.cluster,
                       .ranks = {},
                       .memory = {},
                       .error = {}};
    try {
      found.jobs.push_back(
          load_candidate(candidate, arguments_, request_, workload_, gpus_, failed, readers_));
      found.places.push_back(place);
      return;
    } catch (const InputError& error) {
      Diagnostic diagnostic = error.diagnostic();
      diagnostic.file.clear();  // the row shows the label
      failed.error = to_string(diagnostic);
      keep_first();
    } catch (const UsageError& error) {
      // The options are wrong, not this candidate.
      if (!failed.ranks) throw;
      failed.error = error.what();
      keep_first();
    }
    while (failed.error.ends_with('.')) failed.error.pop_back();
    found.report.not_compared.push_back(std::move(failed));
    found.failed.push_back(place);
  }

  void require_any() const {
    if (found.jobs.empty()) std::rethrow_exception(first_error_);
  }

  WorkloadComparison found{};

 private:
  void keep_first() {
    if (!first_error_) first_error_ = std::current_exception();
  }

  const CompareArguments& arguments_;
  const JobRequest& request_;
  const LoadedWorkload& workload_;
  GpuSettings& gpus_;
  const ClusterReaders& readers_;
  std::exception_ptr first_error_;
};

}  // namespace

std::optional<std::string> MeasuredTexts::step_of(const std::string& text,
                                                  const std::string& workload,
                                                  const Candidate& candidate) {
  const std::string of = workload.empty() ? "" : workload + ':';
  return text.starts_with(of) ? own_step(text.substr(of.size()), candidate) : std::nullopt;
}

std::optional<std::size_t> WorkloadComparison::job_of(std::size_t candidate) const {
  const auto found = std::ranges::find(places, candidate);
  if (found == places.end()) return std::nullopt;
  return static_cast<std::size_t>(found - places.begin());
}

WorkloadComparison compare_workload(const CompareArguments& arguments, const JobRequest& request,
                                    const LoadedWorkload& workload, bool several,
                                    const std::vector<Candidate>& candidates, GpuSettings& gpus,
                                    MeasuredTexts& measured, const ClusterReaders& readers,
                                    Progress* progress) {
  Reading reading(arguments, request, workload, gpus, readers);
  for (std::size_t place = 0; place < candidates.size(); ++place)
    reading.read(candidates[place], place);
  reading.require_any();
  WorkloadComparison found = std::move(reading.found);
  const CompareOptions options{
      .threads = arguments.threads,
      .measured = measured_steps(measured, several ? request.workload.source : "", found.jobs),
      .samples = samples_of_steps(found.jobs),
      .progress = progress};
  shorten_recorded_waits(options.measured, found.jobs);
  std::vector<Job> simulated;
  for (const LoadedCandidate& job : found.jobs) simulated.push_back(job.loaded.job);
  found.report.comparison = compare(simulated, options);
  found.report.global_batch = arguments.global_batch;
  found.report.several_schemes = std::ranges::any_of(
      candidates, [](const Candidate& candidate) { return !candidate.scheme.empty(); });
  for (std::size_t i = 0; i < found.jobs.size(); ++i) {
    const ComparedJob& compared = found.report.comparison.jobs[i];
    Trust& trust = found.jobs[i].loaded.trust;
    trust.confidence = compared.confidence;
    trust.replay = compared.replay;
    trust.correction = compared.correction;
    if (compared.replay && compared.replay->contradicted())
      trust.warnings.overturn(contradiction(*compared.replay));
    found.report.contexts.push_back(
        {context_of(found.jobs[i].loaded), found.jobs[i].memory, std::nullopt});
  }
  warn_of_uncorrected(found.report.comparison, found.jobs);
  found.report.contexts.front().trust.warnings = common_warnings(found.jobs);
  return found;
}

}  // namespace ddpsim
