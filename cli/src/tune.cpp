#include "ddpsim/sim/tune.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.hpp"
#include "ddpsim/formats/files.hpp"
#include "exit_code.hpp"
#include "job_arguments.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

struct Arguments {
  JobArguments job;
  OutputArguments output;
  std::optional<std::string> caps;
  int threads = 0;
};

int run(const Arguments& arguments) {
  TuneOptions tuning;
  if (arguments.caps) tuning.caps = mib_list(*arguments.caps, "--caps");
  tuning.threads = arguments.threads;
  Job job = load_job(arguments.job);
  // A first bucket beside a cap may be unreachable; the curve says so point by point.
  DdpOptions without_caps = job.options.ddp;
  if (!tuning.caps.empty()) without_caps.bucket_cap_mb.reset();
  require_supported(without_caps);
  if (!job.options.ddp.bucket_cap_mb_list.empty())
    throw UsageError("--bucket-cap-mb-list: tune searches over single caps; simulate takes a list");
  require_simulatable(job);

  tuning.measured_step = job.measured_step;
  const TuneResult result = tune(job.workload, job.cluster, job.options, job.model, tuning);
  ReportContext& context = job.context;
  const Duration today =
      simulate_times(job.workload, job.cluster, job.options, job.model).iteration;
  if (job.measured_step) context.replay = Replay{*job.measured_step, today};
  context.confidence =
      assess(job.workload, job.cluster, job.options, job.model, today, context.replay);
  context.next_command =
      fmt::format("ddpsim simulate {} \"{}\"{} --timeline step.pftrace", arguments.job.workload,
                  arguments.job.cluster,
                  result.recommended.bucket_cap_mb
                      ? fmt::format(" --bucket-cap-mb {}", *result.recommended.bucket_cap_mb)
                      : "");

  if (arguments.output.csv) write_file(*arguments.output.csv, tune_csv(result));
  print(arguments.output.json ? tune_json(result, context)
                              : tune_text(result, context, terminal_style()));
  return kOk;
}

}  // namespace

void add_tune(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "tune", "is another bucket cap worth it; which range; the best any bucketing could do");
  const auto arguments = std::make_shared<Arguments>();
  add_job_options(*command, arguments->job);
  command->add_option("--caps", arguments->caps,
                      "only these caps (MiB), X,X,…; default: every distinct bucketing once");
  command
      ->add_option("--threads", arguments->threads,
                   "threads (default: all); the result does not depend on it")
      ->check(CLI::Range(1, 1024));
  add_output_options(*command, arguments->output, false);
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace ddpsim
