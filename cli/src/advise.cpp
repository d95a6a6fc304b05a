#include "ddpsim/sim/advise.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "commands.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "job_warnings.hpp"
#include "load_job.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

struct AdviseArguments {
  JobArguments job;
  OutputArguments output;
  int threads = 0;
};

int run(const AdviseArguments& arguments, const TypedLine& typed) {
  LoadedJob loaded = load_job(arguments.job, typed);
  const Job& job = loaded.job;
  require_supported(job.options().ddp);
  if (!job.options().ddp.bucket_cap_mb_list.empty())
    throw UsageError("--bucket-cap-mb-list: advise searches over caps; simulate takes a list");
  require_simulatable(loaded);
  count_memory(loaded);

  ReportContext& context = loaded.context;
  const Job measured = replay_today(loaded, job);
  AdviseOptions options;
  options.tuning.threads = arguments.threads;
  options.tuning.replay = context.replay;
  options.memory = loaded.memory;
  if (const std::string why = why_no_cap(job.workload()); !why.empty()) {
    options.caps = false;
    context.warnings.push_back("no cap is weighed: " + why);
  }
  const Advice advice = advise(job, options);
  context.confidence = assess(measured, simulate_times(measured), context.replay);
  context.next_command = typed.for_command("tune");

  deliver({.json = [&] { return advice_json(advice, context); },
           .text = [&](const TerminalStyle& style) { return advice_text(advice, context, style); },
           .csv = [&] { return advice_csv(advice); }},
          arguments.output);
  return kOk;
}

}  // namespace

void add_advise(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("advise", "which lever of DDP or NCCL helps, and what it takes");
  const auto arguments = std::make_shared<AdviseArguments>();
  add_job_options(*command, arguments->job);
  hide_run_options(*command);
  add_threads_option(*command, arguments->threads);
  add_output_options(*command, arguments->output, false);
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim advise resnet50-v100-b32 p3dn@16");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
