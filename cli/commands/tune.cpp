#include "ddpsim/sim/tune/tune.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/jobs/job_warnings.hpp"
#include "ddpsim/jobs/memory.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "interactive_page.hpp"
#include "job_arguments.hpp"
#include "job_report.hpp"
#include "report_documents.hpp"
#include "scheme_advice.hpp"
#include "settings_search.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

struct TuneArguments {
  JobArguments job;
  OutputArguments output;
  std::optional<std::string> caps;
  int threads = 0;
};

/// Throws unless the caps can be searched. Caps to try are not checked here, because the curve says for each point if its first bucket
/// cannot be reached.
void require_tunable(const BuiltJob& loaded, bool caps_given) {
  DdpOptions ddp = loaded.job.options().ddp();
  if (caps_given) ddp.bucket_cap_mb.reset();
  require_caps_to_search(loaded, ddp, "tune searches over single caps");
}

/// Returns the best other setting if it saves more than the cap. A cap that must be measured first counts with the most that it may save.
std::optional<AdviceRow> better_setting(const BuiltJob& loaded, const TuneOptions& tuning,
                                        const Recommendation& cap) {
  std::optional<AdviceRow> setting =
      best_setting(loaded.job, {.tuning = tuning, .memory = loaded.memory});
  const Gain named = cap.measure_first ? cap.measure_first->gain : cap.gain;
  if (setting &&
      (setting->expected <= cap.expected + cap.measurable || setting->gain.value <= named.value))
    setting.reset();
  return setting;
}

/// Returns the command that simulates the recommended caps.
std::string simulate_command(TypedLine typed, const Recommendation& recommended) {
  const auto text = [](std::optional<double> mb) {
    return mb ? std::optional(fmt::format("{}", *mb)) : std::nullopt;
  };
  typed.set("--bucket-cap-mb", text(recommended.bucket_cap_mb));
  typed.set("--first-bucket-mb", text(recommended.first_bucket_mb));
  // The measured step belongs to the current caps.
  typed.drop("--measured-step");
  typed.set("--timeline", "step.pftrace");
  return typed.for_command("simulate");
}

int run(const TuneArguments& arguments, const TypedLine& typed) {
  std::vector<double> caps;
  if (arguments.caps) caps = mib_list(*arguments.caps, "--caps");
  std::optional<InteractivePage> page = interactive_page(arguments.output, arguments.job, typed);
  BuiltJob loaded = build_job(job_request(arguments.job, typed));
  const Job& job = loaded.job;
  if (!uses_reducer(job.options().scheme)) {
    if (arguments.caps)
      throw UsageError("--caps",
                       fmt::format("--scheme {} has no buckets of DistributedDataParallel",
                                   name_of(job.options().scheme)));
    return advise_scheme(loaded, typed, arguments.output, arguments.threads, "tune");
  }
  require_tunable(loaded, !caps.empty());
  const PeakMemory memory = require_memory(loaded);

  SettingsSearch search(loaded, arguments.threads);
  TuneOptions tuning = search.options();
  tuning.caps = std::move(caps);
  TuneResult result = tune(job, tuning);
  std::string no_cap_because = why_no_cap(job);
  // Otherwise the curve would mark a point, and a command would be proposed.
  if (!no_cap_because.empty()) result.recommended = {};
  if (!result.left_out.empty()) loaded.trust.warnings.add(result.left_out);
  std::optional<AdviceRow> setting = better_setting(loaded, tuning, result.recommended);
  const ReportedStep step = search.assess_current();
  std::string next = result.recommended.set && !setting
                         ? simulate_command(typed, result.recommended)
                         : next_or_measure(job, typed, "tune", typed.for_command("advise"));
  const TuneReport report{.context = context_of(loaded),
                          .result = std::move(result),
                          .step = step,
                          .no_cap_because = std::move(no_cap_because),
                          .better_setting = std::move(setting),
                          .next_command = std::move(next)};
  deliver({.json = [&] { return tune_json(report); },
           .text = [&](const TerminalStyle& style) { return tune_text(report, style); },
           .csv = [&] { return tune_csv(report); },
           .plot = [&] { return tune_svg(report); },
           .command = typed.for_command("tune"),
           .documents =
               [&] {
                 std::vector<ReportDocument> all =
                     tuned_steps(search.current(), report.result.recommended, loaded, memory);
                 all.push_back({"tune", tune_json(report)});
                 return all;
               },
           .page = std::move(page)},
          arguments.output);
  return kOk;
}

}  // namespace

void add_tune(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("tune", "Find out whether another bucket_cap_mb is worth setting");
  const auto arguments = std::make_shared<TuneArguments>();
  arguments->job.cluster.near = true;
  add_job_options(*command, arguments->job);
  hide_run_options(*command);
  common(command->add_option("--caps", arguments->caps,
                             "Try only these caps (default: every assignment)"))
      ->type_name("MIB,…");
  add_threads_option(*command, arguments->threads);
  add_output_options(*command, arguments->output, false);
  add_plot_option(*command, arguments->output);
  add_report_option(*command, arguments->output);
  add_interactive_option(*command, arguments->output);
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim tune resnet50-v100-b32 p3dn@2");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
