#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "commands.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/reports/validation_report.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "number_between.hpp"
#include "printing.hpp"
#include "terminal.hpp"
#include "typed_line.hpp"
#include "without_percent_sign.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

struct ValidateArguments {
  std::string predicted;
  std::string measured;
  std::optional<std::int64_t> batch;
  std::optional<double> max_error;
  ErrorLimit::Statistic statistic = ErrorLimit::Statistic::worst;
  std::vector<std::string> only;
  OutputArguments output;
};

std::optional<ErrorLimit> limit_of(const ValidateArguments& arguments) {
  if (!arguments.max_error) return std::nullopt;
  ErrorLimit limit;
  limit.percent = *arguments.max_error;
  limit.statistic = arguments.statistic;
  return limit;
}

/// Reads the prediction. A file without any row of a log is more likely the wrong file than a damaged log.
Figures read_prediction(const std::string& argument) {
  try {
    return read_figures(argument);
  } catch (const InputError& error) {
    const Diagnostic& found = error.diagnostic();
    if (found.message != kNoRow) throw;
    throw InputError({found.file, found.where, "is neither a document of ddpsim nor a log",
                      "Expected what simulate, tune or allreduce wrote with --json, simulate with "
                      "--timeline FILE.json, or an all_reduce_perf log"});
  }
}

int run(const ValidateArguments& arguments, const TypedLine& typed) {
  const Figures predicted = read_prediction(arguments.predicted);
  StepTimesAsked known;
  if (arguments.batch) known.samples_per_gpu = static_cast<double>(*arguments.batch);
  if (predicted.ranks) known.gpus = *predicted.ranks;
  const Figures measured = read_measured_figures(arguments.measured, known);
  const Validation validation = validate(predicted, measured, arguments.only);
  const std::optional<ErrorLimit> limit = limit_of(arguments);
  deliver({.json = [&] { return validation_json(validation, predicted, measured, limit); },
           .text =
               [&](const TerminalStyle& style) {
                 return validation_text(validation, predicted, measured, limit, style);
               },
           .csv = [&] { return validation_csv(validation); },
           .command = typed.for_command("validate"),
           .documents =
               [&] {
                 return std::vector<ReportDocument>{
                     {"validation", validation_json(validation, predicted, measured, limit)}};
               }},
          arguments.output);
  if (!limit || !exceeds(validation, *limit)) return kOk;
  print_error(fmt::format("ddpsim: the {} error, {:.2f} %, is above --max-error {:g}",
                          name_of(limit->statistic), error_percent(validation, limit->statistic),
                          limit->percent));
  return kRegression;
}

}  // namespace

void add_validate(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("validate", "Compare a prediction with a measurement, value by value");
  const auto arguments = std::make_shared<ValidateArguments>();
  command
      ->add_option("PREDICTED", arguments->predicted,
                   "What simulate, tune or allreduce wrote with --json, or simulate with "
                   "--timeline FILE.json")
      ->required();
  command
      ->add_option("MEASURED", arguments->measured,
                   "nccl-tests log[@NxG], traces, file of ddpsim-real, CSV of sizes or of caps, or "
                   "step times (104ms, FILE, FILE:KEY=UNIT)")
      ->required();
  {
    const HelpGroup recording(*command, kRecordingGroup);
    command
        ->add_option("--batch", arguments->batch,
                     "State the samples per GPU and step, if MEASURED has only samples per second")
        ->check(CLI::Range(1, 1000000000));
  }
  CLI::Option* limit = command
                           ->add_option("--max-error", arguments->max_error,
                                        "Exit with code 4 if the error is above this, such as 5%")
                           ->transform(without_percent_sign())
                           ->check(number_between(0, 1e9));
  using Statistic = ErrorLimit::Statistic;
  add_word_option<Statistic>(
      *command, "--statistic", arguments->statistic,
      {{"worst", Statistic::worst}, {"p90", Statistic::p90}, {"median", Statistic::median}},
      "Hold this error against --max-error (default: worst)")
      ->needs(limit);
  command
      ->add_option("--only", arguments->only,
                   "Compare only values whose name begins with this; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  add_output_options(*command, arguments->output, false);
  add_report_option(*command, arguments->output);
  add_example(*command, "ddpsim validate predicted.json n2.txt@2x4");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
