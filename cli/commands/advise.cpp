#include "ddpsim/sim/tune/advise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/jobs/job_warnings.hpp"
#include "ddpsim/jobs/memory.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "job_arguments.hpp"
#include "job_report.hpp"
#include "report_documents.hpp"
#include "scheme_advice.hpp"
#include "settings_search.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

struct AdviseArguments {
  std::optional<std::string> setting;  ///< the row to export
  JobArguments job;
  OutputArguments output;
  int threads = 0;
};

std::string names_a_plan(const std::string& name) {
  return name.ends_with(".py") || name.ends_with(".csv")
             ? ""
             : "the name must end in .py, to wrap your model, or in .csv, for NCCL's tuner plugin";
}

bool chooses_alike(const CollectiveTuning& a, const CollectiveTuning& b) {
  return a.algorithms == b.algorithms && a.min_channels == b.min_channels &&
         a.max_channels == b.max_channels;
}

/// Returns the row that --export writes: the named one, or the best one that keeps numerics. Null if nothing is worth changing. Throws
/// UsageError.
const AdviceRow* to_export(const Advice& advice, const std::optional<std::string>& setting) {
  if (!setting) return advice.best();
  const AdviceRow* row = advice.find(*setting);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const AdviceRow& one : advice.rows)
      names.push_back(fmt::format("{}", fmt::join(one.settings, " + ")));
    throw UsageError("--lever", "this advice has no row " + in_quotes(*setting),
                     did_you_mean(*setting, names, "--verbose shows all of them"));
  }
  if (!row->error.empty()) throw UsageError(fmt::format("--lever {}", *setting), row->error);
  return row;
}

/// Returns a table for NCCL's tuner plugin. Throws UsageError if the advice does not change NCCL's choice, which a table would only freeze.
std::string tuner_plan(const AdviceReport& report, const AdviceRow* best, const std::string& file,
                       const std::string& made_by) {
  if (best == nullptr)
    throw UsageError(fmt::format("--export {}", file), "the advice changes nothing");
  if (!best->job_settings.nccl ||
      chooses_alike(*best->job_settings.nccl, *report.advice.current.nccl))
    throw UsageError(
        fmt::format("--export {}", file),
        fmt::format("the advice ({}) sets neither NCCL's algorithm nor its channels",
                    fmt::join(best->settings, " + ")),
        fmt::format("Write Python instead: --export {}.py", file.substr(0, file.rfind('.'))));
  return tuner_csv(*best->job_settings.nccl, report.context, made_by);
}

/// Returns the options of the search. Too little memory, or a recording without information on caps, only adds a warning.
AdviseOptions advise_options(BuiltJob& loaded, const CountedMemory& memory, TuneOptions tuning) {
  const Job& job = loaded.job;
  Warnings& warnings = loaded.trust.warnings;
  AdviseOptions options{.tuning = std::move(tuning), .memory = loaded.memory};
  if (memory.problem) {
    warnings.overturn("memory: the current job " + memory.problem->message);
    options.memory = loaded.memory.value_or(job.cluster().gpu.memory);
  }
  if (const std::string why = why_no_cap(job); !why.empty()) {
    options.caps = false;
    warnings.overturn("no bucket cap is considered: " + why);
  }
  return options;
}

/// Returns the command that exports the advice if there is any, otherwise the command that shows the step.
std::string next_after_advice(const Job& job, const TypedLine& typed, bool to_take_along) {
  TypedLine next = typed;
  next.set(to_take_along ? "--export" : "--timeline",
           to_take_along ? "advised.py" : "step.pftrace");
  return next_or_measure(job, typed, "advise",
                         next.for_command(to_take_along ? "advise" : "simulate"));
}

int run(const AdviseArguments& arguments, const TypedLine& typed) {
  if (arguments.setting && !arguments.output.plan)
    throw UsageError("--lever", "this option selects what --export writes", "Add --export FILE.py");
  BuiltJob loaded = build_job(job_request(arguments.job, typed));
  const Job& job = loaded.job;
  if (!uses_reducer(job.options().scheme))
    return advise_scheme(loaded, typed, arguments.output, arguments.threads, "advise");
  require_caps_to_search(loaded, job.options().ddp(), "advise searches over caps");
  const CountedMemory memory = count_memory(loaded);

  SettingsSearch search(loaded, arguments.threads);
  Advice advice = advise(job, advise_options(loaded, memory, search.options()));
  const ReportedStep step = search.assess_current();
  const bool to_take_along = advice.best() != nullptr && !arguments.output.plan;
  const AdviceReport report{.context = context_of(loaded),
                            .advice = std::move(advice),
                            .step = step,
                            .does_not_fit = memory.problem ? memory.problem->message : "",
                            .would_fit = memory.remedy,
                            .next_command = next_after_advice(job, typed, to_take_along)};
  const AdviceRow* proposed = to_export(report.advice, arguments.setting);
  const std::string command = typed.for_command("advise");
  std::string made_by = fmt::format("ddpsim {}: {}", DDPSIM_VERSION, command);
  if (arguments.setting) made_by += fmt::format(" --lever {}", in_quotes(*arguments.setting));

  Answer answer = advice_answer(
      report, command, [&] { return current_steps(search.current(), loaded, memory.peak); });
  answer.plan = [&](const std::string& file) {
    return file.ends_with(".py") ? advice_python(report, proposed, made_by)
                                 : tuner_plan(report, proposed, file, made_by);
  };
  deliver(answer, arguments.output);
  return kOk;
}

}  // namespace

void add_advise(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "advise", "Find the DDP or NCCL setting to change first, and what it saves");
  const auto arguments = std::make_shared<AdviseArguments>();
  arguments->job.cluster.near = true;
  add_job_options(*command, arguments->job);
  hide_run_options(*command);
  add_threads_option(*command, arguments->threads);
  add_output_options(*command, arguments->output, false);
  add_report_option(*command, arguments->output);
  {
    const HelpGroup group(*command, kOutputGroup);
    common(command->add_option("--export", arguments->output.plan,
                               "Write the advised settings: FILE.py for your training script, "
                               "FILE.csv for NCCL's tuner plugin"))
        ->type_name("FILE")
        ->check(names_a_plan);
    command
        ->add_option("--lever", arguments->setting,
                     "Export this row of the table, as printed (default: the best row that keeps "
                     "numerics)")
        ->type_name("ROW");
  }
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim advise resnet50-v100-b32 p3dn@16");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
