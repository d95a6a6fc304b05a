#include "ddpsim/traces/import.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <system_error>

#include "commands.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/evidence_warnings.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/traces/rank_group.hpp"
#include "ddpsim/traces/workload_file.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "job_arguments.hpp"
#include "own_outputs.hpp"
#include "printing.hpp"
#include "terminal.hpp"
#include "terminal_progress.hpp"

namespace ddpsim {
namespace {

struct ImportArguments {
  std::vector<std::string> inputs;
  std::optional<std::string> output;
  std::optional<std::int64_t> iteration;
  std::optional<std::string> model;
  std::optional<std::string> gpu;
  Timing timing = Timing::recorded;
  bool json = false;
};

/// Imports a file, an estimate or a bundled workload.
Imported import_any(const std::string& input, const ImportOptions& options) {
  std::error_code error;
  if (std::filesystem::exists(input, error)) return import_file(input, options);
  LoadedWorkload loaded = load_workload({.source = input});
  if (options.iteration)
    throw UsageError("--iteration", "only a trace has iterations", "Leave it out");
  Imported imported;
  imported.recognised.push_back(fmt::format(
      "{}: {}", is_estimate(loaded.workload) ? "an estimate" : "bundled", loaded.workload.name));
  imported.workload = std::move(loaded.workload);
  imported.warnings = std::move(loaded.warnings);
  return imported;
}

int run(const ImportArguments& arguments) {
  ImportOptions options;
  options.iteration = arguments.iteration;
  options.model = arguments.model.value_or("");
  options.gpu = arguments.gpu.value_or("");
  options.timing = arguments.timing;
  if (arguments.inputs.size() > 1 && options.timing == Timing::compacted)
    throw UsageError("--timing compacted",
                     "several ranks can only be joined on their recorded clocks");
  TerminalProgress progress("MiB", TerminalProgress::Interrupt::ends);
  options.progress = &progress;
  const std::vector<std::filesystem::path> paths(arguments.inputs.begin(), arguments.inputs.end());
  const Imported imported = paths.size() == 1 ? import_any(arguments.inputs.front(), options)
                                              : import_ranks(paths, options);
  if (arguments.output) require_own_outputs({{"--output", *arguments.output}});
  const bool to_file = arguments.output && *arguments.output != "-";
  const std::string document = format_workload(imported.workload);
  if (!to_file || arguments.json)
    // The document comes first, so that a terminal still shows the text after it.
    print(document);
  if (const std::optional<StepBudget> budget = budget_of(imported.workload))
    print_error(budget_text(*budget));
  for (const std::string& sentence : imported.recognised) print_error(sentence);
  if (!imported.alone.empty()) print_error(imported.alone);
  for (const std::string& warning : imported.warnings) print_error("warning: " + warning);
  if (imported.ddp_log)
    for (const std::string& warning : warnings_in_workload(arguments.inputs.front()))
      print_error("warning: " + warning);
  if (to_file) {
    write_file(*arguments.output, document);
    print_error(fmt::format("wrote {}", *arguments.output));
  }
  return kOk;
}

}  // namespace

void add_import(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "import", "Turn traces, a layer table or an estimate into a workload file");
  const auto arguments = std::make_shared<ImportArguments>();
  command
      ->add_option(
          "INPUT", arguments->inputs,
          "Traces (.json, .json.gz, a folder) of one or more ranks, a layer table, a name from "
          "`ddpsim list`, or an estimate MODEL@GPU[:bBATCH][:bf16]")
      ->required();
  const HelpGroup recording(*command, kRecordingGroup);
  command
      ->add_option(
          "--iteration", arguments->iteration,
          "Take this complete iteration, counted from 0 (default: lower median by backward "
          "time)")
      ->check(CLI::NonNegativeNumber);
  add_model_option(*command, arguments->model);
  add_timing_option(*command, arguments->timing);
  command->add_option("--gpu", arguments->gpu, "State the GPU model, if the trace does not")
      ->type_name("NAME");
  const HelpGroup output(*command, kOutputGroup);
  command
      ->add_option("-o,--output", arguments->output,
                   "Write the workload to this file (default: stdout)")
      ->type_name("FILE")
      ->check(names_a_file);
  add_json_option(*command, arguments->json);
  add_example(*command, "ddpsim import trace.json.gz -o workload.json");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace ddpsim
