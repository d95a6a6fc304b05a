#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

#include "commands.hpp"
#include "ddpsim/diagnose/diff/setting_changes.hpp"
#include "ddpsim/formats/input_error.hpp"
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
  std::optional<std::string> pairs;
  std::optional<double> max_slowdown;
  std::optional<int> gpus_per_node;
  ExpectedArguments expected;
  OutputArguments output;
};

StepBreakdown breakdown_of(const DiffSide& side, const std::string& argument) {
  std::optional<StepBreakdown> breakdown;
  if (side.workload) breakdown = step_breakdown(*side.workload);
  if (!side.steps.empty())
    return breakdown && breakdown->parts_known ? with_unprofiled(*breakdown, side.steps)
                                               : step_alone(side.steps);
  if (breakdown && breakdown->step > Duration()) return *breakdown;
  throw InputError({argument, "", "says how long no step took",
                    side.logs.empty() ? "Give a recording with times, or step times"
                                      : "It is a log of all-reduces: compare it with another"});
}

/// Two logs: one all-reduce in place of a step, all of it transfer. With other ranks the new time is that of the old bus bytes.
StepDifference difference_of_logs(const SizeChange& change) {
  StepBreakdown old = step_alone(std::vector{change.before});
  StepBreakdown now =
      step_alone(std::vector{Duration::microseconds(change.before.microseconds() * change.growth)});
  for (StepBreakdown* one : {&old, &now}) {
    (*one)[StepPart::all_reduce_transfer] = (*one)[LossCause::unexplained];
    (*one)[LossCause::unexplained] = PartTime();
  }
  return difference(old, now);
}

/// The size that got slower most, where a limit is held against every size: others may have become faster.
DifferenceReport::Limit limit_of_logs(const AllReduceChanges& changes, double percent) {
  const SizeChange* worst = &changes.one();
  for (const SizeChange& one : changes.sizes)
    if (one.clear && one.growth > worst->growth) worst = &one;
  return {percent, slowdown_above(difference_of_logs(*worst), percent), worst->size};
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

/// Where another size than the largest is compared.
std::optional<std::string> why_not_largest(const AllReduceChanges& changes) {
  if (changes.compared + 1 == changes.sizes.size()) return std::nullopt;
  const SizeChange& largest = changes.sizes.back();
  return fmt::format(
      "of {} sizes that both logs time, {} bytes changed most and is compared; the "
      "largest, {} bytes, takes {:+.1f} %",
      changes.sizes.size(), changes.one().size.count(), largest.size.count(),
      100 * (largest.growth - 1));
}

/// Of the rank the others wait for, where both sides recorded it.
std::optional<StepDifference> difference_of_late_rank(const DiffSide& before, const DiffSide& after,
                                                      const DifferenceReport& report) {
  if (!report.late || report.late->late.empty() || !before.workload) return std::nullopt;
  const auto of = [&](const Workload& workload) -> std::optional<StepBreakdown> {
    const auto found =
        std::ranges::find(workload.ranks, report.late->late.front(), &RankRecording::rank);
    if (found == workload.ranks.end()) return std::nullopt;
    return step_breakdown(workload, static_cast<std::size_t>(found - workload.ranks.begin()));
  };
  const auto old = of(*before.workload);
  const auto now = of(*after.workload);
  if (!old || !now || !old->parts_known || !now->parts_known) return std::nullopt;
  return difference(*old, *now);
}

/// Sides that do not say where their steps' time goes.
std::vector<std::string> what_is_missing(const DiffSide& before, const DiffSide& after) {
  const auto tells = [](const DiffSide& side) {
    if (!side.workload) return false;
    const auto breakdown = step_breakdown(*side.workload);
    return breakdown && breakdown->parts_known;
  };
  std::string who;
  if (!tells(before)) who = "OLD";
  if (!tells(after)) who += who.empty() ? "NEW" : " and NEW";
  if (who.empty()) return {};
  return {
      fmt::format("{} tell{} how long a step took, not where its time goes: a trace of one step "
                  "(torch.profiler, or the recorder) would split the change into rows",
                  who, who.size() > 3 ? "" : "s")};
}

/// Notes which kinds of evidence both sides hold, and names those that one side alone holds: nothing tells whether they
/// changed.
void note_kinds(const Evidence& before, const Evidence& after, DifferenceReport& report) {
  const auto kinds_of = [](const Evidence& of, const Evidence& other, bool shared) {
    const std::vector<std::string_view> others = other.kinds();
    std::vector<std::string_view> kinds = of.kinds();
    std::erase_if(kinds, [&](std::string_view kind) {
      return (std::ranges::count(others, kind) > 0) != shared;
    });
    return kinds;
  };
  for (const std::string_view kind : kinds_of(before, after, true))
    report.compared.emplace_back(kind);
  const auto name = [&](std::string_view side, std::string_view other,
                        const std::vector<std::string_view>& kinds) {
    if (!kinds.empty())
      report.difference.missing.push_back(
          fmt::format("only {} has {}, so what changed in it is not known; give the same of {}",
                      side, fmt::join(kinds, ", "), other));
  };
  name("OLD", "NEW", kinds_of(before, after, false));
  name("NEW", "OLD", kinds_of(after, before, false));
}

/// Of several tables of a side one is compared.
std::optional<std::string> tables_left_out(std::string_view side,
                                           const std::vector<LoggedAllReduces>& tables,
                                           std::size_t compared) {
  if (tables.size() < 2) return std::nullopt;
  const auto name = [](const LoggedAllReduces& table) {
    std::string text = table.ranks > 0 ? fmt::format("{} ranks", table.ranks)
                                       : std::string("an unknown number of ranks");
    if (table.nodes > 0)
      text += fmt::format(" on {} node{}", table.nodes, table.nodes == 1 ? "" : "s");
    return table.settings.empty() ? text : text + " under " + table.settings;
  };
  std::vector<std::string> others;
  for (std::size_t k = 0; k < tables.size(); ++k)
    if (k != compared) others.push_back(name(tables[k]));
  return fmt::format("{} holds {} tables of all-reduces: that of {} is compared, not that of {}",
                     side, tables.size(), name(tables[compared]),
                     fmt::join(others, ", nor that of "));
}

/// What makes the two something else than one job twice.
std::vector<std::string> other_jobs(const DiffSide& before, const DiffSide& after,
                                    const std::optional<AllReduceChanges>& logs) {
  std::vector<std::string> said;
  if (logs && logs->by_busbw())
    said.push_back(
        fmt::format("OLD's log is of {} ranks, NEW's of {}: other rings, not the same work; bus "
                    "bandwidths are compared, not times",
                    logs->ranks_before, logs->ranks_after));
  if (logs)
    for (auto left_out : {tables_left_out("OLD", before.logs, logs->before),
                          tables_left_out("NEW", after.logs, logs->after)})
      if (left_out) said.push_back(*std::move(left_out));
  if (!before.workload || !after.workload) return said;
  const auto bytes = [](const Workload& workload) -> std::optional<std::int64_t> {
    std::int64_t sum = 0;
    for (const Parameter& parameter : workload.parameters) {
      const std::optional<Bytes> one = gradient_bytes(parameter);
      if (!one) return std::nullopt;  // its shape is not known
      sum += one->count();
    }
    return sum;
  };
  const auto words = [&](const Workload& workload) {
    const auto all = bytes(workload);
    return fmt::format("{} parameters{}", workload.parameters.size(),
                       all ? fmt::format(" of {} bytes", *all) : "");
  };
  const std::size_t old = before.workload->parameters.size();
  const std::size_t now = after.workload->parameters.size();
  const auto old_bytes = bytes(*before.workload);
  const auto new_bytes = bytes(*after.workload);
  const bool other_bytes = old_bytes && new_bytes && *old_bytes != *new_bytes;
  if (old > 0 && now > 0 && (old != now || other_bytes))
    said.push_back(fmt::format("OLD has {}, NEW {}: another model, so rows compare different work",
                               words(*before.workload), words(*after.workload)));
  return said;
}

DifferenceReport compare_sides(const DiffSide& before, const DiffSide& after,
                               const DiffArguments& arguments) {
  DifferenceReport report{.before = before.shown, .after = after.shown};
  SlowdownEvidence evidence;
  const std::optional<AllReduceChanges> logs = all_reduce_changes(before.logs, after.logs);
  const auto has_step = [](const DiffSide& side) {
    if (!side.steps.empty()) return true;
    const auto breakdown = side.workload ? step_breakdown(*side.workload) : std::nullopt;
    return breakdown && breakdown->step > Duration();
  };
  if (!before.logs.empty() && !after.logs.empty() && !(has_step(before) && has_step(after))) {
    if (!logs)
      throw InputError({arguments.after, "",
                        "times no all-reduce of a size that " + arguments.before + " times",
                        "Run both with the same -b, -e and -f"});
    report.all_reduces = logs;
    report.before.all_reduce = report.after.all_reduce = logs->one().size;
    report.difference = difference_of_logs(logs->one());
    evidence.all_reduce_only = true;
  } else if (!(has_step(before) && has_step(after)) &&
             !(before.evidence.empty() && after.evidence.empty())) {
    report.timed = false;
  } else {
    report.difference =
        difference(breakdown_of(before, arguments.before), breakdown_of(after, arguments.after));
    for (std::string& missing : what_is_missing(before, after))
      report.difference.missing.push_back(std::move(missing));
  }
  report.warnings = other_jobs(before, after, logs);
  if (report.all_reduces)
    if (auto why = why_not_largest(*logs)) report.warnings.push_back(*std::move(why));
  for (const auto& [breakdown, argument] : {std::pair(&report.difference.before, &arguments.before),
                                            std::pair(&report.difference.after, &arguments.after)})
    if (const PartTime& kernels = (*breakdown)[StepPart::kernels];
        kernels.known && kernels.time > breakdown->step)
      report.warnings.push_back(
          fmt::format("{}: its step of {:.4g} ms is shorter than the kernels recorded beside it, "
                      "{:.4g} ms: the "
                      "time is of another job, or in another unit",
                      *argument, breakdown->step.milliseconds(), kernels.time.milliseconds()));
  if (after.workload) {
    report.late = late_ranks(*after.workload, arguments.gpus_per_node, after.joined);
    evidence.on_cpu = after.workload->gpu == "CPU";
  }
  report.collectives = collectives_of(after);
  if (arguments.pairs) {
    report.pairs = read_pair_matrix(*arguments.pairs);
    evidence.pairs = judge_pairs(*report.pairs);
  }
  if (before.kernels && after.kernels)
    evidence.kernels = report.kernels = compare_kernels(*before.kernels, *after.kernels);
  evidence.late = report.late;
  evidence.late_difference = difference_of_late_rank(before, after, report);
  evidence.before = find_problems(before.evidence);
  evidence.now = find_problems(after.evidence);
  // A change is of two sides: where the old one has no evidence, nothing is known to be new.
  if (!before.evidence.empty()) {
    evidence.changes = find_changes(before.evidence, after.evidence);
    evidence.repairs = find_repairs(before.evidence, after.evidence);
    evidence.excluded = report.excluded = excluded_causes(before.evidence, after.evidence);
  }
  note_kinds(before.evidence, after.evidence, report);
  if (before.workload && after.workload) {
    evidence.settings = setting_changes(*before.workload, *after.workload);
    evidence.threads_known = threads_known(*before.workload, *after.workload);
  }
  constexpr double kSlower = 1.1;
  if (logs && !evidence.all_reduce_only && logs->one().growth > kSlower)
    evidence.settings.push_back(
        {.what = CauseClass::network_slower,
         .says = fmt::format("an all-reduce of {} bytes alone takes {:.3g} ms, {:.3g} before, by "
                             "the logs beside the steps",
                             logs->one().size.count(), logs->one().after.milliseconds(),
                             logs->one().before.milliseconds()),
         .lengthens = lengthened_by(CauseClass::transport_changed)});
  report.findings = evidence.now;
  for (const std::vector<Finding>* more : {&evidence.changes, &evidence.repairs})
    for (const Finding& finding : *more)
      if (std::ranges::none_of(report.findings, [&](const Finding& known) {
            return known.what == finding.what && known.says == finding.says;
          }))
        report.findings.push_back(finding);
  if (arguments.expected.cluster) {
    if (!before.workload)
      report.warnings.emplace_back(
          "--cluster: OLD is no recording, so there is nothing to simulate");
    else if (!report.timed)
      report.warnings.emplace_back(
          "--cluster: one of the two has no step time, so there is nothing to hold a model "
          "against");
    else
      expect(arguments.expected, before, after, report);
  }
  report.causes =
      report.timed ? slowdown_causes(report.difference, evidence) : causes_of_findings(evidence);
  if (!report.timed) {
    for (const DiffSide* side : {&before, &after})
      if (!has_step(*side))
        report.difference.missing.push_back(fmt::format(
            "{} has no step time: what a finding costs is not known; add one, as in \"{},104ms\"",
            side->shown.source, side->shown.source));
  }
  for (const DiffSide* side : {&before, &after})
    for (const std::string& warning : side->warnings)
      if (std::ranges::count(report.warnings, warning) == 0) report.warnings.push_back(warning);
  if (arguments.max_slowdown && !report.timed)
    throw InputError({arguments.after, "", "--max-slowdown: there are no times to compare",
                      "Add a step time to either side, as in \"nccl.log,104ms\""});
  if (arguments.max_slowdown && report.all_reduces)
    report.limit = limit_of_logs(*report.all_reduces, *arguments.max_slowdown);
  else if (arguments.max_slowdown)
    report.limit = DifferenceReport::Limit{
        *arguments.max_slowdown, slowdown_above(report.difference, *arguments.max_slowdown), {}};
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
          "--max-slowdown", arguments->max_slowdown,
          "percent (3 or 3%); exit code 4 when the step got longer by more, naming the row")
      ->transform(without_percent_sign())
      ->check(number_between(0, 1e9));
  command
      ->add_option("--pairs", arguments->pairs,
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
        ->add_option("--gpus-per-node", arguments->gpus_per_node,
                     "ranks of a node: whether late ranks share a node or a slot")
        ->check(CLI::Range(1, 1024));
  }
  add_expected_options(*command, arguments->expected);
  add_output_options(*command, arguments->output, false);
  add_length_options(*command, arguments->output);
  add_example(*command, "ddpsim diff 104ms 116ms --batch 32");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
