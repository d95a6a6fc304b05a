#include "compare_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "comparison_notes.hpp"
#include "ddpsim/calibrate/logs/all_reduce_changes.hpp"
#include "ddpsim/diagnose/diff/setting_changes.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

bool has_step(const DiffSide& side) {
  if (!side.steps.empty()) return true;
  return side.recorded_step && side.recorded_step->step > Duration();
}

StepBreakdown breakdown_of(const DiffSide& side) {
  const std::optional<StepBreakdown>& breakdown = side.recorded_step;
  if (!side.steps.empty())
    return breakdown && breakdown->parts_known ? with_unprofiled(*breakdown, side.steps)
                                               : step_alone(side.steps);
  if (breakdown && breakdown->step > Duration()) return *breakdown;
  throw InputError({side.shown.source, "", "does not tell how long a step took",
                    side.logs.empty()
                        ? "Give a recording with times, or step times"
                        : "This is a log of all-reduces; compare it with another one"});
}

/// Returns the difference of one all-reduce in two logs, taken as a step that only transfers. If the number of ranks differs, the new time
/// is scaled to the bus bytes of the old one.
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

/// Fills the difference of the steps, or else of the all-reduces in both logs. It stays empty if neither was timed.
void compare_times(const DiffSide& before, const DiffSide& after,
                   const std::optional<AllReduceChanges>& logs, DifferenceReport& report) {
  const bool steps = has_step(before) && has_step(after);
  if (!steps && !before.logs.empty() && !after.logs.empty()) {
    if (!logs)
      throw InputError({after.shown.source, "",
                        "has no all-reduce of a size in " + before.shown.source,
                        "Run both with the same -b, -e and -f"});
    report.all_reduces = logs;
    report.before.all_reduce = report.after.all_reduce = logs->one().size;
    report.difference = difference_of_logs(logs->one());
    return;
  }
  report.timed = steps || (before.evidence.empty() && after.evidence.empty());
  if (!report.timed) return;
  report.difference = difference(breakdown_of(before), breakdown_of(after));
  append(report.difference.missing, parts_not_told(before, after));
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

void take_evidence(const Evidence& before, const Evidence& after, SlowdownEvidence& evidence) {
  evidence.before = find_problems(before);
  evidence.now = find_problems(after);
  // Without evidence of the old side, nothing is known to be new.
  if (before.empty()) return;
  evidence.changes = find_changes(before, after);
  evidence.repairs = find_repairs(before, after);
  evidence.excluded = excluded_causes(before, after);
}

/// Returns everything that may explain the difference. `report` has the results so far.
SlowdownEvidence slowdown_evidence(const DiffSide& before, const DiffSide& after,
                                   const std::optional<AllReduceChanges>& logs,
                                   const DifferenceReport& report) {
  SlowdownEvidence evidence;
  evidence.all_reduce_only = report.all_reduces.has_value();
  evidence.late = report.late;
  evidence.kernels = report.kernels;
  if (report.pairs) evidence.pairs = judge_pairs(*report.pairs);
  take_evidence(before.evidence, after.evidence, evidence);
  if (after.workload) evidence.on_cpu = after.workload->gpu == "CPU";
  if (before.workload && after.workload) {
    if (report.late)
      evidence.late_difference =
          late_rank_difference(*before.workload, *after.workload, *report.late);
    evidence.settings = setting_changes(*before.workload, *after.workload);
    evidence.threads_known = threads_known(*before.workload, *after.workload);
  }
  if (logs && !evidence.all_reduce_only) {
    const SizeChange& one = logs->one();
    if (auto slower = slower_network(one.size, one.before, one.after, one.growth))
      evidence.settings.push_back(*std::move(slower));
  }
  return evidence;
}

/// Returns the problems of the new side, then the changes, each once.
std::vector<Finding> findings_of(const SlowdownEvidence& evidence) {
  std::vector<Finding> findings = evidence.now;
  const auto is_known = [&](const Finding& finding) {
    return std::ranges::any_of(findings, [&](const Finding& known) {
      return known.what == finding.what && known.says == finding.says;
    });
  };
  for (const std::vector<Finding>* more : {&evidence.changes, &evidence.repairs})
    for (const Finding& finding : *more)
      if (!is_known(finding)) findings.push_back(finding);
  return findings;
}

/// Adds the expected change to the rows, if --cluster asks for it.
void add_expected(const ExpectedArguments& expected, const DiffSide& before, const DiffSide& after,
                  DifferenceReport& report) {
  if (!expected.cluster) return;
  if (!before.workload)
    report.warnings.emplace_back("--cluster: OLD is not a recording, so nothing can be simulated");
  else if (!report.timed)
    report.warnings.emplace_back(
        "--cluster: one side has no step time, so there is no change to compare a prediction with");
  else
    expect(expected, before, after, report);
}

/// Says which sides have no step, if nothing was timed.
std::vector<std::string> steps_missing(const DiffSide& before, const DiffSide& after) {
  std::vector<std::string> missing;
  for (const DiffSide* side : {&before, &after})
    if (!has_step(*side))
      missing.push_back(
          fmt::format("{} has no step time, so the cost of a finding is unknown; add the time, "
                      "such as \"{},104ms\"",
                      side->shown.source, side->shown.source));
  return missing;
}

/// Holds a limit against the size that became slower most, since other sizes may have become faster.
DifferenceReport::Limit limit_of_logs(const AllReduceChanges& changes, double percent) {
  const SizeChange* worst = &changes.one();
  for (const SizeChange& one : changes.sizes)
    if (one.clear && one.growth > worst->growth) worst = &one;
  return {percent, slowdown_above(difference_of_logs(*worst), percent), worst->size};
}

DifferenceReport::Limit limit_of(const DifferenceReport& report, double percent) {
  if (!report.timed)
    throw InputError({report.after.source, "", "--max-slowdown: there are no times to compare",
                      "Add a step time to both sides, such as \"nccl.log,104ms\""});
  if (report.all_reduces) return limit_of_logs(*report.all_reduces, percent);
  return {percent, slowdown_above(report.difference, percent), {}};
}

}  // namespace

DifferenceReport compare_sides(const DiffSide& before, const DiffSide& after,
                               const SideComparison& asked) {
  DifferenceReport report{.before = before.shown, .after = after.shown};
  const std::optional<AllReduceChanges> logs = all_reduce_changes(before.logs, after.logs);
  compare_times(before, after, logs, report);
  report.warnings = comparison_warnings(before, after, logs, report);
  if (after.workload) report.late = late_ranks(*after.workload, asked.gpus_per_node, after.joined);
  report.collectives = collectives_of(after);
  if (asked.pairs) report.pairs = read_pair_matrix(*asked.pairs);
  if (before.kernels && after.kernels)
    report.kernels = compare_kernels(*before.kernels, *after.kernels);

  const SlowdownEvidence evidence = slowdown_evidence(before, after, logs, report);
  report.excluded = evidence.excluded;
  report.compared = evidence_of_both(before.evidence, after.evidence);
  report.findings = findings_of(evidence);
  add_expected(asked.expected, before, after, report);
  report.causes =
      report.timed ? slowdown_causes(report.difference, evidence) : causes_of_findings(evidence);

  append(report.difference.missing, evidence_of_one_side(before.evidence, after.evidence));
  if (!report.timed) append(report.difference.missing, steps_missing(before, after));
  for (const DiffSide* side : {&before, &after})
    for (const std::string& warning : side->warnings)
      if (std::ranges::count(report.warnings, warning) == 0) report.warnings.push_back(warning);
  if (asked.max_slowdown) report.limit = limit_of(report, *asked.max_slowdown);
  return report;
}

}  // namespace ddpsim
