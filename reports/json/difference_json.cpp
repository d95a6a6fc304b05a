#include "ddpsim/formats/csv_table.hpp"
#include "ddpsim/reports/difference_report.hpp"
#include "described_documents.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

std::string_view word_of(Bound bound) {
  return bound == Bound::upper ? "upper" : bound == Bound::lower ? "lower" : "";
}

const Described<PartTimes>& described_kernel_times() {
  static const auto described =
      Described<PartTimes>("KernelTimes", "time of the model's kernels by part of the step",
                           Layout::line)
          .time("forward_us", &PartTimes::forward, "time of the kernels of forward")
          .time("backward_us", &PartTimes::backward, "time of the kernels of backward")
          .time("optimizer_us", &PartTimes::optimizer, "time of the kernels of the optimizer");
  return described;
}

/// One side and its step.
struct ShownSide {
  const DifferenceSide& side;
  const StepBreakdown& breakdown;
  bool timed;                                   ///< has a step or an all-reduce
  std::optional<Duration> measured_all_reduce;  ///< only for a log

  bool has_step() const { return timed && !side.all_reduce; }
};

std::optional<Duration> shown_step_time(const ShownSide& of) {
  return of.has_step() ? std::optional(of.breakdown.step) : std::nullopt;
}

std::optional<double> samples_per_s(const ShownSide& of) {
  if (!of.has_step() || !of.side.samples_per_step_per_gpu) return std::nullopt;
  return *of.side.samples_per_step_per_gpu / of.breakdown.step.seconds();
}

std::optional<Duration> shown_all_reduce(const ShownSide& of) {
  if (!of.side.all_reduce) return std::nullopt;
  return of.measured_all_reduce.value_or(of.breakdown.step);
}

const Described<ShownSide>& described_diff_side() {
  static const auto described =
      Described<ShownSide>("DiffSide", "one of the two steps that are compared")
          .text(
              "source", [](const ShownSide& of) -> const std::string& { return of.side.source; },
              "what was compared, as given")
          .text(
              "kind", [](const ShownSide& of) -> const std::string& { return of.side.kind; },
              "what kind of input this side is, in words")
          .time("step_us", &shown_step_time,
                "mean of the middle half of the steps; null if only all-reduces or evidence are "
                "compared")
          .ratio("samples_per_s_per_gpu", &samples_per_s,
                 "samples per second of each GPU; null if no step is compared or its samples are "
                 "not known")
          .integer(
              "steps", [](const ShownSide& of) { return of.breakdown.steps; },
              "how many steps were measured; 0 if there is none, or only one without the time to "
              "the next")
          .ratio(
              "efficiency_percent",
              [](const ShownSide& of) { return efficiency_percent(of.breakdown); },
              "time of the model's kernels, in percent of the step; null if the source does not "
              "tell")
          .integer(
              "all_reduce_bytes",
              [](const ShownSide& of) -> const auto& { return of.side.all_reduce; },
              "the size that is compared, in bytes: the largest in both logs, or another that "
              "changed clearly more. Only for two logs of nccl-tests",
              Absent::left_out)
          .time("all_reduce_us", &shown_all_reduce,
                "time of the all-reduce that is compared. Only for two logs of nccl-tests",
                Absent::left_out)
          .object(
              "kernels",
              [](const ShownSide& of) {
                return of.breakdown.parts_known ? &of.breakdown.kernels : nullptr;
              },
              described_kernel_times(),
              "time of the model's kernels by part of the step. Only if the source tells the "
              "step's parts",
              Absent::left_out);
  return described;
}

ShownSide shown_side(const DifferenceReport& report, DifferenceSide DifferenceReport::*side,
                     StepBreakdown StepDifference::*breakdown, Duration SizeChange::*time) {
  return {report.*side, report.difference.*breakdown, report.timed,
          report.all_reduces ? std::optional(report.all_reduces->one().*time) : std::nullopt};
}

/// A size that two logs share, and the number of ranks in each.
struct ShownSizeChange {
  const SizeChange& change;
  int ranks_before, ranks_after;
};

std::optional<std::vector<ShownSizeChange>> shown_size_changes(const DifferenceReport& report) {
  if (!report.all_reduces) return std::nullopt;
  std::vector<ShownSizeChange> shown;
  for (const SizeChange& change : report.all_reduces->sizes)
    shown.push_back({change, report.all_reduces->ranks_before, report.all_reduces->ranks_after});
  return shown;
}

const Described<ShownSizeChange>& described_size_change() {
  using Shown = ShownSizeChange;
  static const auto described =
      Described<Shown>("SizeChange", "a size of all-reduce that both logs have", Layout::line)
          .integer(
              "bytes", [](const Shown& of) { return of.change.size; },
              "size of the all-reduce in bytes")
          .time(
              "before_us", [](const Shown& of) { return of.change.before; },
              "out-of-place time in OLD")
          .time(
              "after_us", [](const Shown& of) { return of.change.after; },
              "out-of-place time in NEW")
          .ratio(
              "before_busbw_gbps",
              [](const Shown& of) {
                return known_busbw(of.change.size, of.change.before, of.ranks_before);
              },
              "bus bandwidth in OLD, in GB/s; null if the number of ranks is not known")
          .ratio(
              "after_busbw_gbps",
              [](const Shown& of) {
                return known_busbw(of.change.size, of.change.after, of.ranks_after);
              },
              "bus bandwidth in NEW, in GB/s; null if the number of ranks is not known")
          .ratio(
              "change_percent", [](const Shown& of) { return 100 * (of.change.growth - 1); },
              "change of the time in percent; if the numbers of ranks differ, of the time at the "
              "same bus bandwidth")
          .boolean(
              "clear", [](const Shown& of) { return of.change.clear; },
              "whether the change is above 10 % both out of place and in place");
  return described;
}

/// A row of the difference, and the rank that NEW's step waited for.
struct ShownDifferenceRow {
  const DifferenceRow& row;
  std::optional<int> rank;
};

std::vector<ShownDifferenceRow> shown_difference_rows(const DifferenceReport& report) {
  std::vector<ShownDifferenceRow> shown;
  for (const DifferenceRow& row : report.difference.rows) {
    const bool waits = row.part == part_of(LossCause::slowest_gpu);
    shown.push_back({row, waits ? report.difference.after.waited_for : std::nullopt});
  }
  return shown;
}

const Described<ShownDifferenceRow>& described_diff_row() {
  using Shown = ShownDifferenceRow;
  static const auto of_row = [](auto DifferenceRow::*member) {
    return [member](const Shown& of) -> const auto& {
      return of.row.*member;
    };
  };
  static const auto described =
      Described<Shown>("DiffRow", "a part of the step and its change", Layout::line)
          .word(
              "cause", of_row(&DifferenceRow::part), all_step_parts(),
              "the part of the step: kernels, the transfer of all-reduces, or a cause of lost time")
          .time("us", of_row(&DifferenceRow::change),
                "after_us minus before_us; all rows add up to change_us")
          .time("low_us", of_row(&DifferenceRow::low),
                "low end of the change's 80 % interval, which is wide enough for what the evidence "
                "cannot tell apart")
          .time("high_us", of_row(&DifferenceRow::high),
                "high end of the change's 80 % interval, which is wide enough for what the "
                "evidence cannot tell apart")
          .time("expected_us", of_row(&DifferenceRow::expected),
                "the change in the simulation for --cluster; null if it does not tell or nothing "
                "was simulated")
          .one_of("bound", unless_empty([](const Shown& of) { return word_of(of.row.bound); }),
                  {"upper", "lower"},
                  "whether a time is only an upper or a lower bound, because the evidence cannot "
                  "tell two parts apart; null if it is exact")
          .time("before_us", of_row(&DifferenceRow::before), "the part's time in OLD's step")
          .time("after_us", of_row(&DifferenceRow::after), "the part's time in NEW's step")
          .ratio("points", of_row(&DifferenceRow::points),
                 "change of efficiency by this row, in percentage points; all rows add up to the "
                 "whole change")
          .integer("rank", &Shown::rank,
                   "the rank that was waited for. Only for slowest_gpu, if it is known",
                   Absent::left_out);
  return described;
}

const Described<SlowdownCause>& described_slowdown_cause() {
  static const auto described =
      Described<SlowdownCause>("SlowdownCause", "a possible cause of the change")
          .word("class", &SlowdownCause::what, cause_classes(), "what kind of cause it is")
          .texts("evidence", &SlowdownCause::evidence,
                 "the evidence for the cause, one sentence each")
          .text("decide_by", &SlowdownCause::decide_by,
                "what to measure to tell this cause from the next one");
  return described;
}

const Described<ExcludedCause>& described_excluded_cause() {
  static const auto described =
      Described<ExcludedCause>("ExcludedCause", "a cause that the evidence of both sides rules out")
          .word("class", &ExcludedCause::what, cause_classes(), "what kind of cause it is")
          .text("says", &ExcludedCause::says, "what rules the cause out");
  return described;
}

const Described<Finding>& described_finding() {
  static const auto described =
      Described<Finding>("Finding", "something that the evidence of a side shows")
          .word("class", &Finding::what, cause_classes(), "what kind of finding it is")
          .text("says", &Finding::says, "what was found, what it costs and what to do")
          .text("place", &Finding::place, "where the evidence is: file and line, or a variable");
  return described;
}

const Described<KernelComparison::Row>& described_kernel_kind() {
  using Row = KernelComparison::Row;
  static const auto described =
      Described<Row>("KernelKind", "kernels of one kind, in both traces", Layout::line)
          .word("kind", &Row::kind, all_up_to(KernelKind::other),
                "what the kernels do, judged by their names")
          .time(
              "before_us", [](const Row& of) { return of.before.time; },
              "time of these kernels in a step of OLD")
          .time(
              "after_us", [](const Row& of) { return of.after.time; },
              "time of these kernels in a step of NEW")
          .ratio(
              "before_count", [](const Row& of) { return of.before.count; },
              "number of these kernels in a step of OLD")
          .ratio(
              "after_count", [](const Row& of) { return of.after.count; },
              "number of these kernels in a step of NEW");
  return described;
}

std::vector<KernelComparison::Row> shown_kernel_kinds(const DifferenceReport& report) {
  return report.kernels ? report.kernels->rows : std::vector<KernelComparison::Row>();
}

const Described<LateRank>& described_late_rank() {
  static const auto described =
      Described<LateRank>("LateRank", "how often a rank was last, and where it took longer",
                          Layout::line)
          .integer("rank", &LateRank::rank, "the rank")
          .integer("times_last", &LateRank::times_last,
                   "number of collectives at which the others waited for the rank")
          .integer("steps_last", &LateRank::steps_last,
                   "number of steps in which the rank made the others wait longest")
          .time("caused_us", &LateRank::caused,
                "how long the other ranks waited for this rank in a step: their median")
          .time("waited_us", &LateRank::waited, "time that the rank itself waited in a step")
          .word("longer_in", &LateRank::work, all_step_parts(),
                "the part of the rank's step that exceeds the median of the others most; null if "
                "none does")
          .one_of("phase", unless_empty(&LateRank::phase), {"forward", "backward", "optimizer"},
                  "which kernels take longer if longer_in is kernels; else null")
          .time("longer_us", &LateRank::longer,
                "how much longer_in exceeds the median of the others; 0 if nothing takes longer");
  return described;
}

const Described<LateRanks>& described_late_ranks() {
  static const auto described =
      Described<LateRanks>("LateRanks", "which ranks the others waited for")
          .word("pattern", &LateRanks::pattern, all_up_to(LatePattern::unknown),
                "what late ranks have in common; unknown with fewer than five steps")
          .integers("late", &LateRanks::late, "ranks that are late, most costly first")
          .integer("steps", &LateRanks::steps, "steps that all ranks recorded")
          .integer("collectives", &LateRanks::collectives,
                   "number of collectives in the recorded steps")
          .boolean(
              "all_ranks", &LateRanks::complete,
              "whether all ranks of the job were recorded; if false, the last rank may be missing")
          .time("transfer_us", &LateRanks::transfer, "transfer time of all collectives of a step")
          .list("ranks", &LateRanks::ranks, described_late_rank(), "every rank, sorted by number");
  return described;
}

using RankWaiting = std::pair<int, Duration>;

const Described<RankWaiting>& described_rank_waiting() {
  static const auto described =
      Described<RankWaiting>("RankWaiting", "the wait of a rank at a collective", Layout::line)
          .integer("rank", &RankWaiting::first, "the rank")
          .time("wait_us", &RankWaiting::second, "time that it waited for the last rank");
  return described;
}

const Described<RankCollectiveLine>& described_joined_collective() {
  static const auto described =
      Described<RankCollectiveLine>("JoinedCollective", "a collective that all ranks recorded",
                                    Layout::line)
          .text("operation", &RankCollectiveLine::operation,
                "which collective it is, such as allreduce")
          .integer("bytes", &RankCollectiveLine::bytes, "size in bytes; null if not recorded")
          .time("transfer_us", &RankCollectiveLine::transfer,
                "time on the last rank, which waits for no other rank")
          .integer("last_rank", &RankCollectiveLine::last_rank, "the rank that arrived last")
          .list("waits", &RankCollectiveLine::waits, described_rank_waiting(),
                "the wait of each rank");
  return described;
}

const Described<PairBandwidth>& described_pair_bandwidth() {
  static const auto described =
      Described<PairBandwidth>("PairBandwidth", "the bandwidth between two nodes", Layout::line)
          .texts(
              "nodes",
              [](const PairBandwidth& of) {
                return std::vector{of.a, of.b};
              },
              "the two nodes")
          .ratio("busbw_gbps", &PairBandwidth::busbw_gbps, "their bus bandwidth, in GB/s");
  return described;
}

/// Pairs of nodes within groups or across them, counted.
struct CountedPairs {
  std::size_t pairs, slow;
  double median_gbps;
};

const Described<CountedPairs>& described_group_pairs() {
  static const auto described =
      Described<CountedPairs>("GroupPairs", "pairs of nodes across groups, or within them",
                              Layout::line)
          .integer("pairs", &CountedPairs::pairs, "number of pairs of nodes")
          .integer("slow", &CountedPairs::slow, "number of slow pairs")
          .ratio("median_gbps", &CountedPairs::median_gbps,
                 "median bus bandwidth of the pairs, in GB/s");
  return described;
}

/// The bandwidths of pairs of nodes, and the verdict on them.
struct JudgedPairs {
  const PairMatrix& matrix;
  PairVerdict verdict;
};

std::optional<JudgedPairs> judged_pairs(const DifferenceReport& report) {
  if (!report.pairs) return std::nullopt;
  return JudgedPairs{*report.pairs, judge_pairs(*report.pairs)};
}

std::optional<CountedPairs> pairs_across(const JudgedPairs& of) {
  const PairGroups& groups = of.verdict.groups;
  if (!groups.found()) return std::nullopt;
  return CountedPairs{groups.across, groups.slow_across, groups.across_gbps};
}

std::optional<CountedPairs> pairs_within(const JudgedPairs& of) {
  const PairGroups& groups = of.verdict.groups;
  if (!groups.found()) return std::nullopt;
  return CountedPairs{groups.within, groups.slow_within, groups.within_gbps};
}

const Described<JudgedPairs>& described_node_pairs() {
  using Pairs = JudgedPairs;
  static const auto of_verdict = [](auto PairVerdict::*member) {
    return [member](const Pairs& of) -> const auto& {
      return of.verdict.*member;
    };
  };
  static const auto described =
      Described<Pairs>("NodePairs", "bandwidths of pairs of nodes, and which are slow")
          .text(
              "source", [](const Pairs& of) -> const std::string& { return of.matrix.source; },
              "the file of --pairs")
          .ratio("fastest_gbps", of_verdict(&PairVerdict::fastest_gbps),
                 "the bus bandwidth of the fastest pair, in GB/s")
          .texts("slow_nodes", of_verdict(&PairVerdict::slow_nodes),
                 "nodes that have no fast pair, although their partners have one")
          .list("slow_pairs", of_verdict(&PairVerdict::slow), described_pair_bandwidth(),
                "pairs below 80 % of the fastest pair, in the order of the file")
          .list("slow_paths", of_verdict(&PairVerdict::slow_paths), described_pair_bandwidth(),
                "slow pairs whose path is slow, because both nodes are fast with other nodes")
          .list("undecided", of_verdict(&PairVerdict::undecided), described_pair_bandwidth(),
                "slow pairs without a known reason, because neither node is fast with any other")
          .text_rows(
              "groups", [](const Pairs& of) -> const auto& { return of.verdict.groups.groups; },
              "groups of nodes that are fast among themselves and slow with other groups; empty "
              "without such groups")
          .object("across_groups", &pairs_across, described_group_pairs(),
                  "pairs of nodes in different groups; null without groups")
          .object("within_groups", &pairs_within, described_group_pairs(),
                  "pairs of nodes in the same group; null without groups");
  return described;
}

std::optional<StepPart> part_that_grew(const DifferenceReport::Limit& limit) {
  if (!limit.exceeded || !limit.exceeded->row) return std::nullopt;
  return limit.exceeded->row->part;
}

const Described<DifferenceReport::Limit>& described_slowdown_limit() {
  using Limit = DifferenceReport::Limit;
  static const auto described =
      Described<Limit>("SlowdownLimit", "the largest slowdown that is allowed", Layout::line)
          .ratio("max_slowdown_percent", &Limit::percent,
                 "the limit in percent, as --max-slowdown gives it")
          .boolean(
              "exceeded", [](const Limit& of) { return of.exceeded.has_value(); },
              "whether NEW is slower by more than the limit; if so, the exit code is 4")
          .word("row", &part_that_grew, all_step_parts(),
                "the cause of the row that grew most; null if the limit is not exceeded or no row "
                "grew");
  return described;
}

/// Reads a value that exists only if times are compared.
template <typename Value>
auto where_timed(Value (*value)(const StepDifference&)) {
  return [value](const DifferenceReport& report) {
    return report.timed ? std::optional(value(report.difference)) : std::nullopt;
  };
}

const Described<DifferenceReport>& described_diff() {
  using Report = DifferenceReport;
  static const auto described =
      Described<Report>("DiffResult",
                        "the difference between two measured steps, and its likely causes")
          .constant("schema", "ddpsim.diff/1", "which document this is")
          .object(
              "before",
              [](const Report& of) {
                return shown_side(of, &Report::before, &StepDifference::before,
                                  &SizeChange::before);
              },
              described_diff_side(), "what OLD is")
          .object(
              "after",
              [](const Report& of) {
                return shown_side(of, &Report::after, &StepDifference::after, &SizeChange::after);
              },
              described_diff_side(), "what NEW is")
          .time("change_us",
                where_timed<Duration>([](const StepDifference& of) { return of.change; }),
                "NEW's step minus OLD's, or for two logs NEW's all-reduce minus OLD's; null if no "
                "times are compared")
          .ratio("change_percent",
                 where_timed<double>([](const StepDifference& of) { return of.percent(); }),
                 "the change in percent of OLD; null if no times are compared")
          .time("noise_us",
                where_timed<Duration>([](const StepDifference& of) { return of.noise; }),
                "by how much two runs of the same job may differ, as an 80 % interval; null if no "
                "times are compared")
          .boolean("beyond_noise",
                   where_timed<bool>([](const StepDifference& of) { return of.beyond_noise(); }),
                   "whether the change is larger than noise_us; null if no times are compared")
          .text("expected_of", unless_empty(&Report::expected_of),
                "what was simulated for --cluster, in words; null without --cluster")
          .time("expected_change_us", &Report::expected_change,
                "the change in the simulation for --cluster; null if nothing was simulated")
          .list("sizes", &shown_size_changes, described_size_change(),
                "each size that both logs have, ascending. Only for two logs of nccl-tests",
                Absent::left_out)
          .list("rows", &shown_difference_rows, described_diff_row(),
                "parts of the step, largest change first; all of them add up to change_us")
          .list("causes", &Report::causes, described_slowdown_cause(),
                "possible causes, most likely first; empty if the change is within noise or "
                "nothing tells")
          .texts("compared", &Report::compared,
                 "kinds of evidence that both sides have, such as environment variables; a kind "
                 "that only one side has is named in missing")
          .list("excluded", &Report::excluded, described_excluded_cause(),
                "causes that the evidence of both sides rules out")
          .list("findings", &Report::findings, described_finding(),
                "what NEW's evidence shows, alone and compared with OLD's, including problems of "
                "OLD that are gone")
          .list("kernel_kinds", &shown_kernel_kinds, described_kernel_kind(),
                "kernels of each side's first trace by kind, largest change first; empty if a side "
                "has no trace")
          .object("late_ranks", &Report::late, described_late_ranks(),
                  "which ranks of NEW the others waited for; null if fewer than two ranks recorded "
                  "the same all-reduces")
          .list("collectives", &Report::collectives, described_joined_collective(),
                "each collective of NEW's step, joined over the traces of several ranks; empty "
                "without such traces")
          .object("pairs", &judged_pairs, described_node_pairs(),
                  "bandwidths of pairs of nodes; null without --pairs")
          .object("limit", &Report::limit, described_slowdown_limit(),
                  "the largest slowdown that is allowed. Only with --max-slowdown",
                  Absent::left_out)
          .texts(
              "missing", [](const Report& of) -> const auto& { return of.difference.missing; },
              "what could not be compared and what would allow it, one sentence each")
          .texts("warnings", &Report::warnings, "warnings, one sentence each");
  return described;
}

}  // namespace

const ObjectType& difference_document() {
  return described_diff().type();
}

std::string difference_json(const DifferenceReport& report) {
  return described_diff().text_of(report);
}

std::string difference_csv(const DifferenceReport& report) {
  return csv_of(described_diff_row(), shown_difference_rows(report),
                {"cause", "before_us", "after_us", "us", "low_us", "high_us", "expected_us",
                 "bound", "points"});
}

}  // namespace ddpsim
