
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
      app.add_subcommand("diff", "two measured steps: where the time between them went, and why");
  const auto arguments = std::make_shared<DiffArguments>();
  constexpr const char* kSide =
      "trace, folder of them or FILE,FILE,… of several ranks, workload file, DDP logging data, "
      "step "
      "times (a file, FILE:KEY, FILE:KEY=UNIT, 104ms), nccl-tests log, NCCL's debug lines, "
      "environment, "
      "archive of "
      "scripts/collect.sh; several with commas between";
  command->add_option("OLD", arguments->before, std::string("as it was: ") + kSide)->required();
  command->add_option("NEW", arguments->after, "as it is now: the same, in any mixture")
      ->required();
  command
      ->add_option(
          "--max-slowdown", arguments->comparison.max_slowdown,
          "percent (3 or 3%); exit code 4 when the step got longer by more, naming the row")
      ->transform(without_percent_sign())
      ->check(number_between(0, 1e9));
  command
      ->add_option("--pairs", arguments->comparison.pairs,
                   "bandwidths of pairs of nodes, A,B,busbw a line: which node is slow")
      ->type_name("FILE");
  {
    const HelpGroup recording(*command, kRecordingGroup);
    add_model_option(*command, arguments->reading.model);
    command
        ->add_option("--batch", arguments->reading.batch,
                     "samples per GPU and step, where a side does not say")
        ->check(CLI::Range(1, 1000000000));
  }
  {
    const HelpGroup cluster(*command, kClusterGroup);
    command
        ->add_option("--gpus-per-node", arguments->comparison.gpus_per_node,
                     "ranks of a node: whether late ranks share a node or a slot")
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
