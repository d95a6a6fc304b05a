#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/jobs/memory.hpp"
#include "ddpsim/jobs/replay.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "elastic_arguments.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "interactive_page.hpp"
#include "job_arguments.hpp"
#include "job_report.hpp"
#include "measured_timeline.hpp"
#include "money_arguments.hpp"
#include "report_documents.hpp"
#include "terminal.hpp"
#include "terminal_progress.hpp"

namespace ddpsim {
namespace {

struct SimulateArguments {
  JobArguments job;
  OutputArguments output;
  std::optional<std::string> measured;
  MoneyArguments failures;  ///< --mtbf, --restart and --checkpoint
  ElasticArguments elastic;
};

/// Returns the job of the steady step.
Job steady_of(const Job& job) {
  SimulationOptions options = job.options();
  options.iterations = 0;
  options.variation.jitter = 0;
  options.variation.stagger = Duration();
  return job.with(std::move(options));
}

/// Returns the job with the requested iterations and variation.
Job as_asked(const Job& steady, const SimulationOptions& asked) {
  SimulationOptions options = steady.options();
  options.iterations = asked.iterations;
  options.variation = asked.variation;
  return steady.with(std::move(options));
}

/// Returns the measured step under the assumption that communication explains what the replay misses.
std::optional<StepTimes> otherwise(const Trust& trust) {
  if (!trust.correction) return std::nullopt;
  return trust.correction->all_communication.times;
}

/// Returns the documents that a report draws: the step, and the measured or else the recorded one.
std::vector<ReportDocument> documents(const SimulateReport& report, const BuiltJob& loaded,
                                      const std::optional<Timeline>& measured) {
  std::vector<ReportDocument> all = step_documents(report);
  if (measured) {
    all.push_back({"measured_timeline", timeline_json(*measured)});
    return all;
  }
  for (ReportDocument& recorded : recorded_documents(loaded)) all.push_back(std::move(recorded));
  return all;
}

/// Returns a Perfetto trace of the step and of the measured or else the recorded one.
std::string perfetto_trace(const SimulateReport& report, const Job& job, const BuiltJob& loaded,
                           const std::optional<Timeline>& measured) {
  PerfettoBeside beside{.job = &job};
  if (report.memory) beside.memory = &*report.memory;
  std::optional<Timeline> recorded;
  if (measured) {
    beside.other = &*measured;
  } else if (recorded = recorded_step(loaded); recorded) {
    beside.other = &*recorded;
    beside.other_is = "recorded";
  }
  return perfetto(report.result.timeline, report.result.step.buckets, beside);
}

/// Simulates the job. An interrupt keeps finished iterations; it ends the simulation of a steady step.
SimulationResult simulated(const Job& job, WithTimeline with_timeline) {
  if (job.options().iterations == 0) return simulate(job, nullptr, with_timeline);
  TerminalProgress progress("iterations");
  return simulate(job, &progress, with_timeline);
}

/// Returns the question of --nnodes, if given. Throws UsageError if another option needs it.
std::optional<ElasticQuestion> run_question(const SimulateArguments& arguments) {
  if (!arguments.elastic.nnodes && failures(arguments.failures, nullptr))
    throw UsageError("--mtbf", "this option needs a long run", "Add --nnodes MIN:MAX");
  return elastic_question(arguments.elastic, arguments.failures, nullptr);
}

/// Returns the step time if no rank differed. Returns nothing if no rank differs, or for a first step, which also differs because its
/// buckets are not rebuilt yet.
std::optional<Duration> step_if_alike(const Job& steady, const RankVariation& asked,
                                      const SimulationResult& result) {
  const bool settled = result.statistics || result.iterations.empty();
  if (asked.empty() || !settled) return std::nullopt;
  SimulationOptions alike = steady.options();
  alike.variation = {};
  return simulate_times(steady.with(std::move(alike))).iteration;
}

/// Returns whether fewer iterations were simulated than requested, and warns if so.
bool is_interrupted(const SimulationResult& result, int asked, Warnings& warnings) {
  const auto done = static_cast<int>(result.iterations.size());
  if (done < asked)
    warnings.overturn(fmt::format("interrupted: {} of {} iterations were simulated", done, asked));
  return done < asked;
}

/// Returns the report of the steady step, with budget and speed over the requested iterations.
ReportedStep step_over_iterations(const Job& job, const Job& steady, const StepTimes& predicted,
                                  const SimulationResult& result) {
  ReportedStep step = reported_step(steady, predicted);
  if (job.options().iterations == 0) return step;
  step.budget = budget_of(result.times());
  step.speed = training_speed(step_work(job), result.times());
  return step;
}

/// Compares the measured step with the simulated one. Throws InputError if it is of another job; another workload is only a warning.
TimelineDifference difference_to(const Timeline& measured, const std::string& file,
                                 const SimulationResult& result, BuiltJob& loaded) {
  TimelineDifference difference = laid_beside(result.timeline, measured, file);
  require_same_job(measured, file, loaded, result.step.buckets);
  if (auto warning = another_workload(measured, loaded))
    loaded.trust.warnings.add(*std::move(warning));
  return difference;
}

/// Returns the command that searches the settings of this job, or compares a scheme without buckets with DDP.
std::string next_after_simulate(const Job& job, TypedLine typed) {
  typed.drop("--bucket-cap-mb-list");  // tune searches over single caps
  const bool buckets = uses_reducer(job.options().scheme);
  return next_or_measure(
      job, typed, "simulate",
      buckets ? typed.for_command("tune") : typed.for_command("compare") + " --scheme ddp");
}

int run(const SimulateArguments& arguments, const TypedLine& typed) {
  std::optional<InteractivePage> page = interactive_page(arguments.output, arguments.job, typed);
  const std::optional<ElasticQuestion> run_asked = run_question(arguments);
  const JobRequest request = job_request(arguments.job, typed);
  std::optional<LoadedWorkload> read;  // once for all numbers of nodes
  if (run_asked) read = load_workload(request.workload);
  BuiltJob loaded = build_job(request, read);
  const Job& job = loaded.job;
  std::optional<Timeline> measured;
  if (arguments.measured) measured = read_timeline(*arguments.measured);
  require_supported(job.options().ddp(), job.options().torch);
  require_simulatable(loaded);
  const PeakMemory memory = require_memory(loaded);
  Trust& trust = loaded.trust;
  const Job steady = replay_current(loaded, steady_of(job));
  const Job asked = as_asked(steady, job.options());
  const bool drawn = arguments.output.timeline || !arguments.output.reports.empty() || measured;
  SimulationResult result = simulated(asked, drawn ? WithTimeline::yes : WithTimeline::no);
  const StepTimes predicted =
      arguments.job.iterations == 0 ? result.step.times : simulate_times(steady);
  const std::optional<Duration> if_alike = step_if_alike(steady, job.options().variation, result);
  const bool interrupted = is_interrupted(result, job.options().iterations, trust.warnings);
  trust.confidence = assess(steady, predicted, trust.replay, otherwise(trust), 0);
  const ReportedStep step = step_over_iterations(job, steady, predicted, result);
  std::optional<ElasticAnswer> elastic;
  if (run_asked) elastic = elastic_answer(*run_asked, loaded, predicted.iteration, request, *read);
  std::optional<TimelineDifference> difference;
  if (measured) difference = difference_to(*measured, *arguments.measured, result, loaded);
  const SimulateReport report{.context = context_of(loaded),
                              .result = std::move(result),
                              .step = step,
                              .memory = memory,
                              .iteration_if_alike = if_alike,
                              .measured = std::move(difference),
                              .elastic = std::move(elastic),
                              .next_command = next_after_simulate(job, typed)};
  deliver({.json = [&] { return result_json(report); },
           .text = [&](const TerminalStyle& style) { return result_text(report, style); },
           .csv =
               [&] {
                 return uses_reducer(job.options().scheme) ? result_csv(report.result)
                                                           : collectives_csv(report.result);
               },
           .timeline =
               [&](const std::string& file) {
                 return file.ends_with(".json") ? timeline_json(described(report.result, job))
                                                : perfetto_trace(report, asked, loaded, measured);
               },
           .command = typed.for_command("simulate"),
           .documents = [&] { return documents(report, loaded, measured); },
           .page = std::move(page)},
          arguments.output);
  return interrupted ? kInterrupted : kOk;
}

}  // namespace

void add_simulate(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("simulate", "Predict one training step: how long it takes, and why");
  const auto arguments = std::make_shared<SimulateArguments>();
  add_job_options(*command, arguments->job);
  add_epoch_options(*command, arguments->job.epoch);
  command
      ->add_option("--iterations", arguments->job.iterations,
                   "Simulate this many steps from the start of training (default: only the steady "
                   "step)")
      ->check(CLI::Range(1, 10000));
  command
      ->add_option("--measured", arguments->measured,
                   "Show this measured step beside the simulated one: a trace, or a "
                   "ddpsim.timeline/1 file of ddpsim-real")
      ->type_name("FILE");
  add_elastic_options(*command, arguments->elastic);
  add_failure_options(*command, arguments->failures);
  add_output_options(*command, arguments->output, true);
  add_report_option(*command, arguments->output);
  add_interactive_option(*command, arguments->output);
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim simulate resnet50-v100-b32 dgx1v --timeline step.pftrace");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
