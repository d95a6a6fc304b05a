#include "ddpsim/sim/compare/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "commands.hpp"
#include "compare_outcome.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "job_arguments.hpp"
#include "repeatable.hpp"
#include "scheme_arguments.hpp"
#include "study.hpp"
#include "terminal.hpp"
#include "terminal_progress.hpp"
#include "until_search.hpp"

namespace ddpsim {
namespace {

/// Returns the command that tunes the fastest candidate.
std::string next_command(TypedLine typed, const CompareArguments& arguments,
                         const std::string& workload, const LoadedCandidate& fastest) {
  std::optional<std::string> step = fastest.candidate.measured_step;
  for (const std::string& text : arguments.measured_steps)
    if (const auto own = MeasuredTexts::step_of(text, "", fastest.candidate)) step = own;
  typed.set("WORKLOAD", workload);
  typed.set("CLUSTER", fastest.candidate.cluster);
  typed.set("--gpu", fastest.request.compute.gpu);
  const std::optional<ComputeScale>& scale = fastest.request.compute.scale;
  typed.set("--compute-scale", scale ? std::optional(scale->as_typed) : std::nullopt);
  typed.set("--measured-step", step);
  if (arguments.global_batch) typed.set("--batch", std::to_string(*fastest.request.compute.batch));
  typed.drop("--bucket-cap-mb-list");  // tune searches over single caps
  typed.set("--scheme", scheme_text_of(fastest.candidate, arguments));
  const bool buckets = uses_reducer(fastest.loaded.job.options().scheme);
  return typed.for_command(buckets ? "tune" : "simulate");
}

/// Throws UsageError for a measured step that belongs to no candidate.
void require_taken(const MeasuredTexts& measured, const std::vector<ReadWorkload>& workloads,
                   const std::vector<Candidate>& candidates) {
  const bool several = workloads.size() > 1;
  for (std::size_t k = 0; k < measured.texts.size(); ++k) {
    if (measured.taken[k]) continue;
    std::vector<std::string> names;
    // A candidate that could not be compared has its own error.
    bool failed = false;
    for (const ReadWorkload& workload : workloads)
      for (const Candidate& candidate : candidates) {
        const std::string of = several ? workload.weighed.text : "";
        failed = failed || MeasuredTexts::step_of(measured.texts[k], of, candidate);
        names.push_back(several ? of + ':' + candidate.label : candidate.label);
      }
    if (failed) continue;
    throw UsageError(fmt::format("--measured-step {}", measured.texts[k]),
                     fmt::format("state which candidate it belongs to, such as --measured-step "
                                 "\"{}=104ms\"; the candidates are {}",
                                 names.front(), fmt::join(names, ", ")));
  }
}

void require_one_workload(const CompareArguments& arguments,
                          const std::vector<CandidateRequest>& clusters) {
  for (const CandidateRequest& request : clusters)
    if (request.measured_step)
      throw UsageError(
          fmt::format("measured_step of {}: state the workload, too, such as --measured-step "
                      "\"WORKLOAD:LABEL=104ms\"",
                      in_quotes(request.label.value_or(request.cluster))));
  if (arguments.samples || arguments.steps)
    throw UsageError("--samples, --steps",
                     "these options are for one workload; with several, costs are those of the "
                     "work that the first candidate does in an hour");
  if (arguments.output.plot)
    throw UsageError(
        "--plot",
        "this option plots the speed of one workload; use --plot-cost for the cost of a mix");
  if (arguments.elastic.nnodes)
    throw UsageError("--nnodes", "this option simulates runs of one workload",
                     "Compare the workloads one by one");
  if (!arguments.output.reports.empty())
    throw UsageError("--report", "a report shows one workload",
                     "Compare the workloads one by one, each with a report");
}

/// Checks options before anything is read.
std::vector<Condition> checked_conditions(const CompareArguments& arguments,
                                          const std::optional<SearchedRange>& range) {
  for (const std::string& scheme : arguments.schemes) parse_scheme(scheme);
  std::vector<Condition> conditions;
  for (const std::string& text : arguments.until) conditions.push_back(parse_condition(text));
  if (range && conditions.empty())
    throw UsageError(range->text,
                     "the goal of the search is missing; add --until \"efficiency<90%\" or \"A "
                     "faster than B\", or write out the range as {…}");
  return conditions;
}

std::optional<SearchedRange> range_of(const CompareArguments& arguments,
                                      const std::vector<CandidateRequest>& clusters) {
  std::vector<std::string> words;
  for (const CandidateRequest& request : clusters) {
    words.push_back(request.cluster);
    if (request.price) words.push_back(*request.price);
  }
  for (const auto* more : {&arguments.compute_scales, &arguments.money.prices})
    words.insert(words.end(), more->begin(), more->end());
  return searched_range(words);
}

/// Checks the options of costs and failures against the candidates before a workload is read.
void require_sound(const CompareArguments& arguments, const std::vector<Candidate>& all) {
  const MoneyArguments& money = arguments.money;
  const bool counted = arguments.samples || arguments.steps || !money.mtbf.empty();
  if (counted && money.prices.empty() && !arguments.elastic.nnodes)
    throw UsageError("--samples, --steps, --mtbf", "costs need a price",
                     "Add --price list, or --price LABEL=USD/node_hour");
  require_sound_money(arguments.money, all);
  for (const Candidate& candidate : all)
    elastic_question(arguments.elastic, arguments.money, &candidate);
}

/// Returns the arguments of the table. A searched range becomes both of its ends in a cluster, or its low end in an option.
CompareArguments shown(CompareArguments arguments, const std::optional<SearchedRange>& range,
                       std::vector<CandidateRequest>& clusters) {
  if (!range) return arguments;
  const std::string low = range->value(0);
  clusters = range->put_into(clusters,
                             fmt::format("{{{},{}}}", low, range->value(range->places() - 1)), low);
  arguments.compute_scales = range->put_into(arguments.compute_scales, low);
  arguments.money.prices = range->put_into(arguments.money.prices, low);
  return arguments;
}

/// Returns the answer for one workload. `report` must outlive it.
Answer answer_of_one(const CompareReport& report, std::string command) {
  return {.json = [&report] { return compare_json(report); },
          .text = [&report](const TerminalStyle& style) { return compare_text(report, style); },
          .csv = [&report] { return compare_csv(report); },
          .plot = [&report] { return compare_svg(report); },
          .plot_cost = [&report] { return cost_svg(report); },
          .command = std::move(command),
          .documents =
              [&report] {
                return std::vector<ReportDocument>{{"compare", compare_json(report)}};
              }};
}

/// Returns the answer for several workloads. `mix` must outlive it.
Answer answer_of_mix(const MixReport& mix) {
  return {.json = [&mix] { return mix_json(mix); },
          .text = [&mix](const TerminalStyle& style) { return mix_text(mix, style); },
          .csv = [&mix] { return mix_csv(mix); },
          .plot_cost = [&mix] { return cost_svg(mix); }};
}

int run(CompareArguments typed_arguments, const TypedLine& typed) {
  std::vector<CandidateRequest> clusters;
  std::vector<ReadWorkload> workloads;
  const std::vector<WeighedWorkload> weighed = weighed_workloads(typed_arguments, clusters);
  const std::vector<CandidateRequest> typed_clusters = clusters;
  if (std::ranges::any_of(clusters, [](const auto& one) { return one.price.has_value(); }))
    list_other_prices(typed_arguments.money);
  const std::optional<SearchedRange> range = range_of(typed_arguments, clusters);
  const std::vector<Condition> conditions = checked_conditions(typed_arguments, range);
  const CompareArguments arguments = shown(typed_arguments, range, clusters);
  if (weighed.size() > 1) require_one_workload(arguments, clusters);
  const std::vector<Candidate> all = candidates(clusters, arguments.schemes);
  require_sound(arguments, all);
  const JobRequest request = job_request(arguments.job, typed);
  for (const WeighedWorkload& workload : weighed)
    workloads.push_back(
        {workload, load_workload({workload.text, arguments.job.model, arguments.job.timing})});

  GpuSettings gpus(arguments.compute_scales, arguments.gpus, workloads.size() > 1);
  MeasuredTexts measured{arguments.measured_steps,
                         std::vector<bool>(arguments.measured_steps.size())};
  TerminalProgress progress("candidates", TerminalProgress::Interrupt::ends);
  CompareOutcome outcome(arguments, request, workloads, all, gpus, measured, {}, &progress);
  require_taken(measured, workloads, outcome.candidates());
  if (outcome.all_compared()) gpus.require_all_used();
  const std::optional<Costs>& costs = outcome.costs();
  if (arguments.output.plot_cost && !costs)
    throw UsageError("--plot-cost", "no candidate has a price", "Add --price LABEL=USD/node_hour");
  std::vector<Until> until = range ? until_searched(conditions, *range, typed_arguments, request,
                                                    workloads, typed_clusters)
                                   : until_written_out(conditions, outcome, workloads);
  if (!arguments.no_tune) outcome.search_caps(arguments.threads, &progress);

  if (outcome.several()) {
    MixReport mix = outcome.mix_report(workloads);
    mix.until = std::move(until);
    deliver(answer_of_mix(mix), arguments.output);
    return kOk;
  }
  const WorkloadComparison& only = outcome.workloads().front();
  CompareReport report = only.report;
  report.until = std::move(until);
  report.next_command = next_command(typed, arguments, weighed.front().text,
                                     only.jobs[report.comparison.by_speed.front()]);
  const TypedLine& line = arguments.study ? arguments.study->typed : typed;
  deliver(answer_of_one(report, line.for_command("compare")), arguments.output);
  return kOk;
}

/// Adds --samples and --steps: how much to train.
void add_amount_options(CLI::App& command, CompareArguments& arguments) {
  const HelpGroup money(command, kMoneyGroup);
  const auto amount = CLI::Range(1e-3, 1e18);
  CLI::Option* samples = command.add_option("--samples", arguments.samples,
                                            "Show the time and cost of training this many samples");
  samples->check(amount);
  command
      .add_option("--steps", arguments.steps,
                  "Show the time and cost of training this many steps of --global-batch")
      ->check(amount)
      ->excludes(samples);
}

}  // namespace

void add_compare(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "compare", "Find which cluster or scheme trains faster or cheaper, how surely");
  const auto arguments = std::make_shared<CompareArguments>();
  add_candidate_options(*command, *arguments);
  command
      ->add_option("CLUSTER", arguments->clusters,
                   "Clusters as in `ddpsim simulate`, or ranges such as dgxa100@1..16*2 and "
                   "\"node:{4,8} …\"; LABEL=CLUSTER gives a name")
      ->take_all();
  // With --workload, the first argument is a CLUSTER.
  command->get_option("WORKLOAD")->required(false);
  repeatable(command->add_option("--workload", arguments->workloads,
                                 "Compare a mix of these instead of WORKLOAD, such as bert=70% of "
                                 "the first candidate's time; repeatable"))
      ->type_name("WORKLOAD[=SHARE]");
  repeatable(common(command->add_option("--until", arguments->until,
                                        "Find where along a range this holds: efficiency<90%, "
                                        "step>120ms, usd>1.5, \"A faster than B\"; repeatable")))
      ->type_name("CONDITION");
  command->add_flag("--no-tune", arguments->no_tune,
                    "Do not search for the best bucket cap of candidates that could be fastest");
  add_study_option(*command, arguments->study);
  add_money_options(*command, arguments->money);
  add_elastic_options(*command, arguments->elastic);
  add_amount_options(*command, *arguments);
  add_threads_option(*command, arguments->threads);
  add_output_options(*command, arguments->output, false);
  uncommon(add_plot_option(*command, arguments->output));
  add_plot_cost_option(*command, arguments->output);
  add_report_option(*command, arguments->output);
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim compare resnet50-v100-b32 p3dn@1..8*2 dgxa100@1..8*2 --gpu A100");
  // Otherwise CLI11 takes optional arguments for more values of the option before them.
  for (CLI::Option* option : command->get_options({}))
    if (!option->get_positional()) option->allow_extra_args(false);
  command->callback([&action, arguments, command] {
    // The best cap is searched for as in `tune`.
    arguments->job.cluster.near = !arguments->no_tune;
    action = [arguments, command] {
      try {
        return run(*arguments, TypedLine(*command));
      } catch (const UsageError& error) {
        if (arguments->study) require_right_study(*arguments->study, error.what());
        throw;
      }
    };
  });
}

}  // namespace ddpsim
