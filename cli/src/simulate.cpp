#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include "commands.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/reports/timeline_difference.hpp"
#include "ddpsim/sim/tune.hpp"
#include "ddpsim/traces/timeline_file.hpp"
#include "exit_code.hpp"
#include "job_arguments.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

struct Arguments {
  JobArguments job;
  OutputArguments output;
  std::optional<std::string> measured;
};

std::optional<Timeline> measured_timeline(const Arguments& arguments) {
  if (!arguments.measured) return std::nullopt;
  return parse_timeline(read_file(*arguments.measured, kMostTimelineBytes), *arguments.measured);
}

TimelineDifference laid_beside(const Timeline& predicted, const Timeline& measured,
                               const std::string& source) {
  std::optional<TimelineDifference> result = difference(predicted, measured, source);
  if (!result)
    throw InputError({.file = source,
                      .where = "/ranks",
                      .message = "holds none of the ranks that are simulated",
                      .hint = "Rank 0 is always among them"});
  return std::move(*result);
}

/// Where the timeline, by what it says of itself or by its spans, is of something else.
std::vector<std::string> another_job(const Job& job, std::size_t buckets,
                                     const Timeline& measured) {
  std::vector<std::string> warnings;
  const auto check = [&](const char* what, const std::string& there, const std::string& here) {
    if (!there.empty() && there != here)
      warnings.push_back(
          fmt::format("--measured is of another job: {} {}, simulated: {}", what, there, here));
  };
  for (const auto& [key, text] : measured.provenance) {
    if (key == "workload" && !job.workload.name.empty()) check("workload", text, job.workload.name);
    if (key == "ranks") check("ranks", text, std::to_string(job.cluster.ranks()));
  }
  std::set<std::size_t> reduced;
  for (const RankTimeline& rank : measured.ranks)
    for (const Span& span : rank.spans)
      if (span.track == Track::communication && span.bucket) reduced.insert(*span.bucket);
  if (!reduced.empty()) check("buckets", std::to_string(reduced.size()), std::to_string(buckets));
  return warnings;
}

int run(const Arguments& arguments) {
  Job job = load_job(arguments.job);
  const std::optional<Timeline> measured = measured_timeline(arguments);
  require_supported(job.options.ddp);
  require_simulatable(job);
  const SimulationResult result = simulate(job.workload, job.cluster, job.options, job.model);

  SimulationOptions steady = job.options;
  steady.iterations = 0;
  steady.variation.jitter = 0;
  steady.variation.stagger = Duration();
  const Duration predicted =
      arguments.job.iterations == 0
          ? result.step.times.iteration
          : simulate_times(job.workload, job.cluster, steady, job.model).iteration;
  ReportContext& context = job.context;
  if (!job.options.variation.empty()) {
    SimulationOptions alike = steady;
    alike.variation = {};
    context.iteration_if_alike =
        simulate_times(job.workload, job.cluster, alike, job.model).iteration;
  }
  replay_today(job, predicted);
  context.confidence =
      assess(job.workload, job.cluster, steady, job.model, predicted, context.replay);
  if (measured) {
    context.measured = laid_beside(result.timeline, *measured, *arguments.measured);
    for (std::string& warning : another_job(job, result.step.buckets.size(), *measured))
      context.warnings.push_back(std::move(warning));
  }
  JobArguments next = arguments.job;
  next.ddp.bucket_cap_mb_list.reset();
  context.next_command = command_line("tune", next);

  deliver({.json = [&] { return result_json(result, context); },
           .text =
               [&](const TerminalStyle& style) {
                 return result_text(result, context, job.workload, style);
               },
           .csv = [&] { return result_csv(result); },
           .timeline =
               [&](const std::string& file) {
                 return file.ends_with(".json") ? timeline_json(result.timeline)
                                                : perfetto(result.timeline, result.step.buckets,
                                                           measured ? &*measured : nullptr);
               }},
          arguments.output);
  return kOk;
}

}  // namespace

void add_simulate(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("simulate", "one configuration: verdict, breakdown, bucket table");
  const auto arguments = std::make_shared<Arguments>();
  add_job_options(*command, arguments->job);
  command
      ->add_option("--iterations", arguments->job.iterations,
                   "simulate this many steps from the first of a training run (default: the "
                   "steady step)")
      ->check(CLI::Range(1, 10000));
  command->add_option(
      "--measured", arguments->measured,
      "a measured step to lay beside: a ddpsim.timeline/1 file, as ddpsim-real writes "
      "it; also drawn into --timeline");
  add_output_options(*command, arguments->output, true);
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace ddpsim
