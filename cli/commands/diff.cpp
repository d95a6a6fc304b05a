
#include <CLI/CLI.hpp>
#include <memory>

#include "commands.hpp"
#include "compare_sides.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "diff_expected.hpp"
#include "diff_side.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "job_arguments.hpp"
#include "number_between.hpp"
#include "printing.hpp"
#include "terminal.hpp"
#include "typed_line.hpp"
#include "without_percent_sign.hpp"

namespace ddpsim {
namespace {

struct DiffArguments {
  std::string before;
  std::string after;
  DiffReading reading;
  SideComparison comparison;
  OutputArguments output;
};

int run(const DiffArguments& arguments, const TypedLine& typed) {
  const DiffSide before = read_diff_side(arguments.before, arguments.reading);
  const DiffSide after = read_diff_side(arguments.after, arguments.reading);
  const DifferenceReport report = compare_sides(before, after, arguments.comparison);
  deliver({.json = [&] { return difference_json(report); },
           .text = [&](const TerminalStyle& style) { return difference_text(report, style); },
           .csv = [&] { return difference_csv(report); },
           .command = typed.for_command("diff")},
          arguments.output);
  if (!report.limit || !report.limit->exceeded) return kOk;
  print_error("ddpsim: " + slowdown_words(report));
  return kRegression;
}

}  // namespace

void add_diff(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("diff", "Explain why one measured step is slower than another");
  const auto arguments = std::make_shared<DiffArguments>();
  command
      ->add_option(
          "OLD", arguments->before,
          "The step before: traces, workload file, step times (104ms, FILE, FILE:KEY=UNIT), "
          "logs, environment or scripts/collect.sh archive, joined by commas")
      ->required();
  command
      ->add_option("NEW", arguments->after,
                   "The step now, in any of these forms (docs/reference/diff.md explains them)")
      ->required();
  common(command->add_option("--max-slowdown", arguments->comparison.max_slowdown,
                             "Exit with code 4 and name the part if the step got longer by more "
                             "than this, such as 3%"))
      ->transform(without_percent_sign())
      ->check(number_between(0, 1e9));
  command
      ->add_option("--pairs", arguments->comparison.pairs,
                   "Find the slow node in this file of bandwidths between nodes, one A,B,busbw per "
                   "line")
      ->type_name("FILE");
  {
    const HelpGroup recording(*command, kRecordingGroup);
    add_model_option(*command, arguments->reading.model);
    common(command->add_option("--batch", arguments->reading.batch,
                               "State the samples per GPU and step, if a side does not"))
        ->check(CLI::Range(1, 1000000000));
  }
  {
    const HelpGroup cluster(*command, kClusterGroup);
    common(command->add_option("--gpus-per-node", arguments->comparison.gpus_per_node,
                               "State the ranks per node, to find out whether late ranks share a "
                               "node"))
        ->check(CLI::Range(1, 1024));
  }
  add_expected_options(*command, arguments->comparison.expected);
  add_output_options(*command, arguments->output, false);
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim diff 104ms 116ms --batch 32");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
