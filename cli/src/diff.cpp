#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "commands.hpp"
#include "ddpsim/calibrate/setting_changes.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "diff_expected.hpp"
#include "diff_side.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "job_arguments.hpp"
#include "number_between.hpp"
#include "terminal.hpp"
#include "typed_line.hpp"

namespace ddpsim {
namespace {

struct DiffArguments {
  std::string before;
  std::string after;
  DiffReading reading;
  std::optional<std::string> pairs;
  std::optional<double> max_slowdown;
  std::optional<int> gpus_per_node;
  ExpectedArguments expected;
  OutputArguments output;
};

/// "3%" and "3 %" for 3.
CLI::Validator percent_or_number() {
  const auto strip = [](std::string& text) {
    if (text.ends_with('%')) {
      text.pop_back();
      if (text.ends_with(' ')) text.pop_back();
    }
    return std::string();
  };
  return {strip, "", "percent"};
}

/// The largest all-reduce both logs timed: where the wire decides, not the latency.
std::optional<Bytes> largest_common(const DiffSide& before, const DiffSide& after) {
  std::optional<Bytes> largest;
  for (const auto& [size, time] : before.all_reduces)
    for (const auto& [other, other_time] : after.all_reduces)
      if (size == other && time > Duration() && other_time > Duration() &&
          (!largest || size > *largest))
        largest = size;
  return largest;
}

Duration time_of(const DiffSide& side, Bytes size) {
  std::vector<Duration> times;
  for (const auto& [bytes, time] : side.all_reduces)
    if (bytes == size) times.push_back(time);
  std::ranges::sort(times);
  return times[(times.size() - 1) / 2];
}

StepBreakdown breakdown_of(const DiffSide& side, const std::string& argument) {
  if (!side.steps.empty()) return step_breakdown(side.steps);
  if (side.workload)
    if (const auto breakdown = step_breakdown(*side.workload);
        breakdown && breakdown->step > Duration())
      return *breakdown;
  throw InputError({argument, "", "says how long no step took",
                    side.all_reduces.empty()
                        ? "Give a recording with times, or step times"
                        : "It is a log of all-reduces: compare it with another"});
}

/// Two logs: one all-reduce in place of a step, all of it transfer.
StepDifference difference_of_logs(const DiffSide& before, const DiffSide& after, Bytes size) {
  StepBreakdown old = step_breakdown(std::vector{time_of(before, size)});
  StepBreakdown now = step_breakdown(std::vector{time_of(after, size)});
  for (StepBreakdown* one : {&old, &now}) {
    (*one)[StepPart::all_reduce_transfer] = (*one)[LossCause::unexplained];
    (*one)[LossCause::unexplained] = PartTime();
  }
  return difference(old, now);
}

std::vector<RankCollectiveLine> collectives_of(const DiffSide& side) {
  std::vector<RankCollectiveLine> lines;
  for (const JoinedCollective& one : side.joined) {
    const auto shortest = std::ranges::min_element(one.durations);
    RankCollectiveLine line{
        .operation = one.operation,
        .bytes = one.bytes,
        .transfer = *shortest,
        .last_rank = one.ranks[static_cast<std::size_t>(shortest - one.durations.begin())],
        .waits = {}};
    for (std::size_t r = 0; r < one.ranks.size(); ++r)
      line.waits.emplace_back(one.ranks[r], one.durations[r] - *shortest);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string what_is_missing(const DiffSide& side, std::string_view name) {
  if (side.workload && step_breakdown(*side.workload) &&
      step_breakdown(*side.workload)->parts_known)
    return "";
  return fmt::format(
      "{} is {}: nothing in it says where a step's time goes; a trace of one step "
      "(torch.profiler, or the recorder) would split the change into rows",
      name, side.shown.kind);
}

DifferenceReport compare_sides(const DiffSide& before, const DiffSide& after,
                               const DiffArguments& arguments) {
  DifferenceReport report{.before = before.shown, .after = after.shown};
  SlowdownEvidence evidence;
  if (!before.all_reduces.empty() && !after.all_reduces.empty()) {
    const std::optional<Bytes> size = largest_common(before, after);
    if (!size)
      throw InputError({arguments.after, "",
                        "times no all-reduce of a size that " + arguments.before + " times",
                        "Run both with the same -b, -e and -f"});
    report.before.all_reduce = report.after.all_reduce = size;
    report.difference = difference_of_logs(before, after, *size);
    evidence.all_reduce_only = true;
  } else {
    report.difference =
        difference(breakdown_of(before, arguments.before), breakdown_of(after, arguments.after));
    const std::string of_before = what_is_missing(before, "OLD");
    const std::string of_after = what_is_missing(after, "NEW");
    for (const std::string& one : {of_before, of_after})
      if (!one.empty()) report.difference.missing.push_back(one);
  }
  if (after.workload) {
    report.late = late_ranks(*after.workload, arguments.gpus_per_node);
    evidence.on_cpu = after.workload->gpu == "CPU";
  }
  report.collectives = collectives_of(after);
  evidence.late = report.late;
  evidence.before = before.findings;
  evidence.now = after.findings;
  if (before.workload && after.workload)
    evidence.settings = setting_changes(*before.workload, *after.workload);
  report.findings = after.findings;
  if (arguments.pairs) report.pairs = read_pair_matrix(*arguments.pairs);
  if (before.workload && arguments.expected.cluster)
    expect(arguments.expected, before, after, report);
  else if (arguments.expected.cluster)
    report.warnings.emplace_back("--cluster: OLD is no recording, so there is nothing to simulate");
  report.causes = slowdown_causes(report.difference, evidence);
  for (const DiffSide* side : {&before, &after})
    for (const std::string& warning : side->warnings)
      if (std::ranges::count(report.warnings, warning) == 0) report.warnings.push_back(warning);
  if (arguments.max_slowdown)
    report.limit = DifferenceReport::Limit{
        *arguments.max_slowdown, slowdown_above(report.difference, *arguments.max_slowdown)};
  return report;
}

int run(const DiffArguments& arguments, const TypedLine& typed) {
  const DiffSide before = read_diff_side(arguments.before, arguments.reading);
  const DiffSide after = read_diff_side(arguments.after, arguments.reading);
  const DifferenceReport report = compare_sides(before, after, arguments);
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
  CLI::App* command = app.add_subcommand("diff",
                                         "two measured steps: where the time between them went, "
                                         "and why, with an honest \"unexplained\"");
  const auto arguments = std::make_shared<DiffArguments>();
  constexpr const char* kSide =
      "trace, folder of them or FILE,FILE,… of several ranks, workload file, DDP logging data, "
      "step "
      "times (a file, FILE:COLUMN, 104ms), or nccl-tests log";
  command->add_option("OLD", arguments->before, std::string("as it was: ") + kSide)->required();
  command->add_option("NEW", arguments->after, "as it is now: the same, in any mixture")
      ->required();
  command
      ->add_option(
          "--max-slowdown", arguments->max_slowdown,
          "percent (3 or 3%); exit code 4 when the step got longer by more, naming the row")
      ->transform(percent_or_number())
      ->check(number_between(0, 1e9));
  command
      ->add_option("--pairs", arguments->pairs,
                   "bandwidths of pairs of nodes, A,B,busbw a line: which node is slow")
      ->type_name("FILE");
  command
      ->add_option("--gpus-per-node", arguments->gpus_per_node,
                   "ranks of a node: whether late ranks share a node or a slot")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--batch", arguments->reading.batch,
                   "samples per GPU and step, where a side does not say")
      ->check(CLI::Range(1, 1000000000));
  {
    const HelpGroup recording(*command, kRecordingGroup);
    add_model_option(*command, arguments->reading.model);
  }
  add_expected_options(*command, arguments->expected);
  add_output_options(*command, arguments->output, false);
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim diff march/ today/ --max-slowdown 3%");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
