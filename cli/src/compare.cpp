#include "ddpsim/sim/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <memory>

#include "candidate_arguments.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "job_warnings.hpp"
#include "measured_step.hpp"
#include "money_arguments.hpp"
#include "study.hpp"
#include "terminal.hpp"
#include "until.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

struct CompareArguments : CandidateArguments {
  OutputArguments output;
  MoneyArguments money;
  std::vector<std::string> clusters;
  std::optional<double> samples;
  std::optional<double> steps;
  std::vector<std::string> until;
  bool no_tune = false;
  int threads = 0;
};

/// Each warning once; one that neither holds for all nor names its cluster says for which it does.
std::vector<std::string> common_warnings(const std::vector<LoadedCandidate>& jobs) {
  std::vector<std::string> texts;
  std::map<std::string, std::vector<std::string>> labels;
  std::map<std::string, bool> named;
  for (const LoadedCandidate& job : jobs) {
    const std::string& label = job.candidate.label;
    for (const std::string& warning : job.loaded.context.warnings) {
      std::vector<std::string>& whose = labels[warning];
      if (whose.empty()) texts.push_back(warning);
      named[warning] = warning.find(job.loaded.job.cluster().name) != std::string::npos;
      if (whose.empty() || whose.back() != label) whose.push_back(label);
    }
  }
  for (std::string& text : texts) {
    const std::vector<std::string>& whose = labels[text];
    if (whose.size() == jobs.size() || named[text]) continue;
    text = whose.size() == 1
               ? fmt::format("{}: {}", whose.front(), text)
               : fmt::format("{} and {} more: {}", whose.front(), whose.size() - 1, text);
  }
  return texts;
}

/// --measured-step, by job.
std::vector<std::optional<MeasuredStep>> measured_steps(const std::vector<std::string>& texts,
                                                        const std::vector<LoadedCandidate>& jobs) {
  std::vector<std::optional<MeasuredStep>> measured(jobs.size());
  for (const std::string& text : texts) {
    bool named = false;  // a cluster may be given twice: its step is that of both
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto step = own_step(text, jobs[i].candidate);
      if (!step) continue;
      if (measured[i])
        throw UsageError(
            fmt::format("--measured-step: {} is given twice", jobs[i].candidate.label));
      measured[i] = parse_measured_step(*step);
      require_possible(*measured[i], jobs[i].loaded.job, jobs[i].loaded.workload_source);
      named = true;
    }
    if (named) continue;
    std::vector<std::string> labels;
    for (const LoadedCandidate& job : jobs) labels.push_back(job.candidate.label);
    throw UsageError(
        fmt::format("--measured-step {}: say whose step it is, as in --measured-step \"{}=104ms\"; "
                    "compared are {}",
                    text, labels.front(), fmt::join(labels, ", ")));
  }
  return measured;
}

/// Reads candidate by candidate. One that cannot be compared is a row with its reason, unless none can.
class CandidateReader {
 public:
  CandidateReader(const CompareArguments& arguments, const TypedLine& typed)
      : arguments_(arguments),
        typed_(typed),
        gpus_(arguments.compute_scales, arguments.gpus),
        workload_(
            load_workload(arguments.job.workload, arguments.job.model, arguments.job.timing)) {}

  void read(const Candidate& candidate) {
    NotCompared failed{.label = candidate.label,
                       .cluster_text = candidate.cluster,
                       .ranks = {},
                       .memory = {},
                       .error = {}};
    try {
      compared.push_back(load_candidate(candidate, arguments_, typed_, workload_, gpus_, failed));
      return;
    } catch (const InputError& error) {
      Diagnostic diagnostic = error.diagnostic();
      diagnostic.file.clear();  // its label stands in front
      failed.error = to_string(diagnostic);
      keep_first();
    } catch (const UsageError& error) {
      if (!failed.ranks) throw;  // of the options, not of this candidate
      failed.error = error.what();
      keep_first();
    }
    while (failed.error.ends_with('.')) failed.error.pop_back();
    not_compared.push_back(std::move(failed));
  }

  void require_any() const {
    if (compared.empty()) std::rethrow_exception(first_error_);
    if (not_compared.empty()) gpus_.require_all_used();
  }

  std::vector<LoadedCandidate> compared;
  std::vector<NotCompared> not_compared;

 private:
  void keep_first() {
    if (!first_error_) first_error_ = std::current_exception();
  }

  const CompareArguments& arguments_;
  const TypedLine& typed_;
  GpuSettings gpus_;
  LoadedWorkload workload_;
  std::exception_ptr first_error_;
};

/// By job; empty where a workload does not say its batch.
std::vector<double> samples_of_steps(const std::vector<LoadedCandidate>& jobs) {
  std::vector<double> samples;
  for (const LoadedCandidate& job : jobs) {
    const std::optional<double> own = job.loaded.context.samples_per_step;
    if (!own) return {};
    samples.push_back(*own);
  }
  return samples;
}

/// --samples, --steps.
std::optional<Training> training(const CompareArguments& arguments,
                                 const std::vector<double>& samples) {
  if (!arguments.samples && !arguments.steps) return std::nullopt;
  if (samples.empty())
    throw UsageError("--samples, --steps: the workload does not say its batch; add --batch");
  if (arguments.samples) return Training{.samples = *arguments.samples};
  if (std::ranges::adjacent_find(samples, std::ranges::not_equal_to()) != samples.end())
    throw UsageError(
        "--steps: a step is not as many samples on every candidate; add --global-batch, or count "
        "--samples");
  return Training{.samples = *arguments.steps * samples.front(), .of_steps = true};
}

/// What clusters cost, where anything has a price.
std::optional<Costs> costs_of(const CompareArguments& arguments, const Comparison& comparison,
                              const std::vector<LoadedCandidate>& jobs) {
  std::vector<Candidate> candidates;
  std::vector<const Cluster*> clusters;
  for (const LoadedCandidate& job : jobs) {
    candidates.push_back(job.candidate);
    clusters.push_back(&job.loaded.job.cluster());
  }
  Costs costs = compare_costs(comparison, prices(arguments.money, candidates, clusters),
                              ownership(arguments.money), failures(arguments.money));
  if (costs.by_cost.empty()) return std::nullopt;
  return costs;
}

/// What `tune` says of the fastest.
std::string next_command(TypedLine typed, const CompareArguments& arguments,
                         const LoadedCandidate& fastest) {
  std::optional<std::string> step;
  for (const std::string& text : arguments.measured_steps)
    if (const auto own = own_step(text, fastest.candidate)) step = own;
  typed.set("CLUSTER", fastest.settings.cluster.text);
  typed.set("--gpu", fastest.settings.gpu);
  typed.set("--compute-scale", fastest.settings.compute_scale);
  typed.set("--measured-step", step);
  if (arguments.global_batch) typed.set("--batch", std::to_string(*fastest.settings.batch));
  typed.drop("--bucket-cap-mb-list");  // tune searches over single caps
  return typed.for_command("tune");
}

int run(const CompareArguments& arguments, const TypedLine& typed) {
  failures(arguments.money);  // a wrong option before a wrong file
  ownership(arguments.money);
  std::vector<Condition> conditions;
  for (const std::string& text : arguments.until) conditions.push_back(parse_condition(text));
  CandidateReader reader(arguments, typed);
  for (const Candidate& candidate : candidates(arguments.clusters)) reader.read(candidate);
  reader.require_any();
  std::vector<LoadedCandidate>& jobs = reader.compared;

  CompareOptions options{.threads = arguments.threads,
                         .measured = measured_steps(arguments.measured_steps, jobs),
                         .samples = samples_of_steps(jobs)};
  std::vector<Job> simulated;
  for (const LoadedCandidate& job : jobs) simulated.push_back(job.loaded.job);
  CompareReport report{.comparison = compare(simulated, options),
                       .contexts = {},
                       .not_compared = std::move(reader.not_compared),
                       .costs = {},
                       .training = training(arguments, options.samples),
                       .global_batch = arguments.global_batch};
  Comparison& comparison = report.comparison;
  report.costs = costs_of(arguments, comparison, jobs);
  std::vector<Candidate> compared;
  for (const LoadedCandidate& job : jobs) compared.push_back(job.candidate);
  const bool searched = !arguments.no_tune &&
                        simulated.front().options().ddp.bucket_cap_mb_list.empty() &&
                        why_no_cap(simulated.front()).empty();
  if (searched) search_caps(comparison, contenders(comparison), arguments.threads);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::optional<Replay>& replay = comparison.jobs[i].replay;
    ReportContext& context = jobs[i].loaded.context;
    context.replay = replay;
    context.correction = comparison.jobs[i].correction;
    if (replay && replay->contradicted()) context.overturn(contradiction(*replay));
    report.contexts.push_back(context);
  }
  report.contexts.front().warnings = common_warnings(jobs);
  report.until = tipping_points(conditions, compared, report);
  report.contexts.front().next_command =
      next_command(typed, arguments, jobs[comparison.by_speed.front()]);

  deliver({.json = [&] { return compare_json(report); },
           .text = [&](const TerminalStyle& style) { return compare_text(report, style); },
           .csv = [&] { return compare_csv(report); },
           .plot = [&] { return compare_svg(report); }},
          arguments.output);
  return kOk;
}

}  // namespace

void add_compare(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "compare", "one workload on several clusters: which trains faster, how surely");
  const auto arguments = std::make_shared<CompareArguments>();
  add_candidate_options(*command, *arguments);
  command
      ->add_option("CLUSTER", arguments->clusters,
                   "clusters as elsewhere, also as ranges: dgxa100@1..16*2, \"node:{4,8} …\"; "
                   "LABEL=CLUSTER gives a name")
      ->required()
      ->take_all();
  command
      ->add_option("--until", arguments->until,
                   "from which candidate of a range on, how surely: efficiency<90%, speed>20000 "
                   "(samples/s), step>120ms, usd>1.5; repeatable")
      ->expected(1)
      ->take_all();
  command->add_flag("--no-tune", arguments->no_tune,
                    "do not search the best cap of those that may be the fastest");
  add_study_option(*command);
  add_money_options(*command, arguments->money);
  {
    const HelpGroup money(*command, kMoneyGroup);
    const auto amount = CLI::Range(1e-3, 1e18);
    CLI::Option* samples = command->add_option("--samples", arguments->samples,
                                               "to be trained: what they take and cost");
    samples->check(amount);
    command->add_option("--steps", arguments->steps, "the same in steps of --global-batch")
        ->check(amount)
        ->excludes(samples);
  }
  add_threads_option(*command, arguments->threads);
  add_output_options(*command, arguments->output, false);
  add_plot_option(*command, arguments->output);
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim compare resnet50-v100-b32 p3dn@1..8*2 dgxa100@1..8*2 --gpu A100");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
