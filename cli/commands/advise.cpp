#include "ddpsim/sim/tune/advise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/jobs/job_warnings.hpp"
#include "ddpsim/jobs/memory.hpp"
#include "ddpsim/jobs/replay.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "job_arguments.hpp"
#include "job_report.hpp"
#include "report_documents.hpp"
#include "scheme_advice.hpp"
#include "terminal.hpp"
#include "terminal_progress.hpp"

namespace ddpsim {
namespace {

struct AdviseArguments {
  std::optional<std::string> setting;  ///< to export
  JobArguments job;
  OutputArguments output;
  int threads = 0;
};

std::string names_a_plan(const std::string& name) {
  return name.ends_with(".py") || name.ends_with(".csv")
             ? ""
             : "what kind of file? FILE.py wraps a model, FILE.csv is for NCCL's tuner plugin";
}

bool chooses_alike(const CollectiveTuning& a, const CollectiveTuning& b) {
  return a.algorithms == b.algorithms && a.min_channels == b.min_channels &&
         a.max_channels == b.max_channels;
}

/// What --export writes: the best of what leaves numerics as they are, or what --lever names. Null where nothing is worth
/// changing. Throws UsageError.
const AdviceRow* to_export(const Advice& advice, const std::optional<std::string>& setting) {
  if (!setting) return advice.best();
  const AdviceRow* row = advice.find(*setting);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const AdviceRow& one : advice.rows)
      names.push_back(fmt::format("{}", fmt::join(one.settings, " + ")));
    throw UsageError(fmt::format("--lever: no row of this advice is {}. {}", in_quotes(*setting),
                                 did_you_mean(*setting, names, "--verbose shows all of them")));
  }
  if (!row->error.empty()) throw UsageError(fmt::format("--lever {}: {}", *setting, row->error));
  return row;
}

/// Throws UsageError where the plan leaves NCCL's choice as it is: a table of that would only freeze it.
std::string tuner_plan(const AdviceReport& report, const AdviceRow* best, const std::string& file,
                       const std::string& made_by) {
  if (best == nullptr)
    throw UsageError(fmt::format("--export {}: there is nothing to change", file));
  if (!best->job_settings.nccl ||
      chooses_alike(*best->job_settings.nccl, *report.advice.current.nccl))
    throw UsageError(
        fmt::format("--export {}: what is advised ({}) sets neither NCCL's algorithm nor its "
                    "channels; write it as Python: --export {}.py",
                    file, fmt::join(best->settings, " + "), file.substr(0, file.rfind('.'))));
  return tuner_csv(*best->job_settings.nccl, report.context, made_by);
}

int run(const AdviseArguments& arguments, const TypedLine& typed) {
  if (arguments.setting && !arguments.output.plan)
    throw UsageError("--lever: it says what --export writes; add --export FILE.py");
  BuiltJob loaded = build_job(job_request(arguments.job, typed));
  if (!uses_reducer(loaded.job.options().scheme))
    return advise_scheme(loaded, typed, arguments.output, arguments.threads, "advise");
  const Job& job = loaded.job;
  require_supported(job.options().ddp(), job.options().torch);
  if (!job.options().ddp().bucket_cap_mb_list.empty())
    throw UsageError("--bucket-cap-mb-list: advise searches over caps; simulate takes a list");
  require_simulatable(loaded);
  require_searchable(loaded, "`ddpsim simulate --bucket-cap-mb` asks for one cap");
  const CountedMemory memory = count_memory(loaded);

  Trust& trust = loaded.trust;
  const Job measured = replay_current(loaded, job);
  AdviseOptions options;
  options.tuning.threads = arguments.threads;
  options.tuning.replay = trust.replay;
  TerminalProgress progress("settings", TerminalProgress::Interrupt::ends);
  options.tuning.progress = &progress;
  options.memory = loaded.memory;
  if (memory.problem) {
    trust.warnings.overturn("memory: today's job " + memory.problem->message);
    options.memory = loaded.memory.value_or(job.cluster().gpu.memory);
  }
  if (const std::string why = why_no_cap(job); !why.empty()) {
    options.caps = false;
    trust.warnings.overturn("no cap is weighed: " + why);
  }
  Advice advice = advise(job, options);
  const StepTimes times = simulate_times(measured);
  trust.confidence = assess(measured, times, trust.replay, std::nullopt, arguments.threads);
  const bool to_take_along = advice.best() != nullptr && !arguments.output.plan;
  TypedLine next = typed;
  next.set(to_take_along ? "--export" : "--timeline",
           to_take_along ? "advised.py" : "step.pftrace");
  const AdviceReport report{
      .context = context_of(loaded),
      .advice = std::move(advice),
      .step = reported_step(measured, times),
      .does_not_fit = memory.problem ? memory.problem->message : "",
      .would_fit = memory.remedy,
      .next_command = next_or_measure(job, typed, "advise",
                                      next.for_command(to_take_along ? "advise" : "simulate"))};
  const AdviceRow* proposed = to_export(report.advice, arguments.setting);
  std::string made_by = fmt::format("ddpsim {}: {}", DDPSIM_VERSION, typed.for_command("advise"));
  if (arguments.setting) made_by += fmt::format(" --lever {}", in_quotes(*arguments.setting));

  deliver({.json = [&] { return advice_json(report); },
           .text = [&](const TerminalStyle& style) { return advice_text(report, style); },
           .csv = [&] { return advice_csv(report.advice); },
           .plan =
               [&](const std::string& file) {
                 return file.ends_with(".py") ? advice_python(report, proposed, made_by)
                                              : tuner_plan(report, proposed, file, made_by);
               },
           .command = typed.for_command("advise"),
           .documents =
               [&] {
                 std::vector<ReportDocument> all =
                     step_documents(step_report(loaded, memory.peak, simulate(measured)));
                 for (ReportDocument& one : recorded_documents(loaded))
                   all.push_back(std::move(one));
                 all.push_back({"advice", advice_json(report)});
                 return all;
               }},
          arguments.output);
  return kOk;
}

}  // namespace

void add_advise(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("advise", "which lever of DDP or NCCL helps, and what it takes");
  const auto arguments = std::make_shared<AdviseArguments>();
  arguments->job.cluster.near = true;
  add_job_options(*command, arguments->job);
  hide_run_options(*command);
  add_threads_option(*command, arguments->threads);
  add_output_options(*command, arguments->output, false);
  add_report_option(*command, arguments->output.report);
  {
    const HelpGroup group(*command, kOutputGroup);
    command
        ->add_option(
            "--export", arguments->output.plan,
            "write what is advised: FILE.py wraps a model so, FILE.csv is for NCCL's tuner "
            "plugin")
        ->type_name("FILE")
        ->check(names_a_plan);
    command->add_option("--lever", arguments->setting,
                        "what --export writes in place of the best that leaves numerics as they "
                        "are: a row's levers, as printed");
  }
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim advise resnet50-v100-b32 p3dn@16");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
