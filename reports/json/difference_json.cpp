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
      Described<PartTimes>("KernelTimes", "the model's kernels of a step, by part of the step",
                           Layout::line)
          .time("forward_us", &PartTimes::forward, "kernels of forward")
          .time("backward_us", &PartTimes::backward, "kernels of backward")
          .time("optimizer_us", &PartTimes::optimizer, "kernels of the optimizer");
  return described;
}

/// A side, and the step it tells.
struct ShownSide {
  const DifferenceSide& side;
  const StepBreakdown& breakdown;
  bool timed;                                   ///< there is a step, or an all-reduce
  std::optional<Duration> measured_all_reduce;  ///< of a log

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
              "what the source is, in words")
          .time("step_us", &shown_step_time,
                "mean of the middle half of the steps; null where all-reduces or evidence alone "
                "are compared")
          .ratio("samples_per_s_per_gpu", &samples_per_s,
                 "samples a second of each GPU; null where no step is compared, or its samples are "
                 "not known")
          .integer(
              "steps", [](const ShownSide& of) { return of.breakdown.steps; },
              "how many steps were measured; 0: none, or one without the time to the "
              "next")
          .ratio(
              "efficiency_percent",
              [](const ShownSide& of) { return efficiency_percent(of.breakdown); },
              "the model's kernels in percent of the step; null where the source does not tell")
          .integer(
              "all_reduce_bytes",
              [](const ShownSide& of) -> const auto& { return of.side.all_reduce; },
              "the size that is compared: the largest in both logs, or another that changed by "
              "clearly more. Only of two logs of nccl-tests",
              Absent::left_out)
          .time("all_reduce_us", &shown_all_reduce,
                "the time of the all-reduce that is compared. Only of two logs of nccl-tests",
                Absent::left_out)
          .object(
              "kernels",
              [](const ShownSide& of) {
                return of.breakdown.parts_known ? &of.breakdown.kernels : nullptr;
              },
              described_kernel_times(),
              "the model's kernels of the step. Only where the source tells the step's parts",
              Absent::left_out);
  return described;
}

ShownSide shown_side(const DifferenceReport& report, DifferenceSide DifferenceReport::*side,
                     StepBreakdown StepDifference::*breakdown, Duration SizeChange::*time) {
  return {report.*side, report.difference.*breakdown, report.timed,
          report.all_reduces ? std::optional(report.all_reduces->one().*time) : std::nullopt};
}

/// A size of two logs, and the ranks of each.
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
      Described<Shown>("SizeChange", "a size of all-reduce that two logs both have", Layout::line)
          .integer(
              "bytes", [](const Shown& of) { return of.change.size; }, "the size of the all-reduce")
          .time(
              "before_us", [](const Shown& of) { return of.change.before; },
              "its time out of place in OLD")
          .time(
              "after_us", [](const Shown& of) { return of.change.after; },
              "its time out of place in NEW")
          .ratio(
              "before_busbw_gbps",
              [](const Shown& of) {
                return known_busbw(of.change.size, of.change.before, of.ranks_before);
              },
              "bus bandwidth in OLD, in GB/s; null where the number of ranks is not known")
          .ratio(
              "after_busbw_gbps",
              [](const Shown& of) {
                return known_busbw(of.change.size, of.change.after, of.ranks_after);
              },
              "bus bandwidth in NEW, in GB/s; null where the number of ranks is not known")
          .ratio(
              "change_percent", [](const Shown& of) { return 100 * (of.change.growth - 1); },
              "the change of the time; of logs of other numbers of ranks, of the time at the same "
              "bus bandwidth")
          .boolean(
              "clear", [](const Shown& of) { return of.change.clear; },
              "whether the change is above 10 % both out of place and in place");
  return described;
}

/// A part of the change, and the rank that NEW's step waited for.
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
      Described<Shown>("DiffRow", "a part of the step, and how it changed", Layout::line)
          .word("cause", of_row(&DifferenceRow::part), all_step_parts(),
                "the part of the step: its kernels, the transfer of its all-reduces, or a cause of "
                "lost time")
          .time("us", of_row(&DifferenceRow::change),
                "after_us less before_us; all rows together sum to change_us")
          .time("low_us", of_row(&DifferenceRow::low),
                "the low end of the change's 80 % interval, which also holds what the evidence "
                "cannot tell apart")
          .time("high_us", of_row(&DifferenceRow::high),
                "the high end of the change's 80 % interval, which also holds what the evidence "
                "cannot tell apart")
          .time("expected_us", of_row(&DifferenceRow::expected),
                "what the simulation for --cluster says the change should be; null where "
                "it does not tell, or nothing was simulated")
          .one_of("bound", unless_empty([](const Shown& of) { return word_of(of.row.bound); }),
                  {"upper", "lower"},
                  "whether a time of the row is only an upper or a lower bound, because a side's "
                  "evidence does not tell two parts apart; null where neither is a bound")
          .time("before_us", of_row(&DifferenceRow::before), "the part's time in OLD's step")
          .time("after_us", of_row(&DifferenceRow::after), "the part's time in NEW's step")
          .ratio("points", of_row(&DifferenceRow::points),
                 "what the row changes of efficiency, in percentage points; all rows together sum "
                 "to its change")
          .integer("rank", &Shown::rank,
                   "the rank that was waited for. Only of slowest_gpu, where it is known",
                   Absent::left_out);
  return described;
}

const Described<SlowdownCause>& described_slowdown_cause() {
  static const auto described =
      Described<SlowdownCause>("SlowdownCause", "a possible cause of the change")
          .word("class", &SlowdownCause::what, cause_classes(), "what kind of cause it is")
          .texts("evidence", &SlowdownCause::evidence, "what speaks for the cause, a sentence each")
          .text("decide_by", &SlowdownCause::decide_by,
                "what to measure to tell the cause from the next one");
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
      Described<Finding>("Finding", "something that a side's evidence says")
          .word("class", &Finding::what, cause_classes(), "what kind of finding it is")
          .text("says", &Finding::says, "what is so, what it costs and what to do")
          .text("place", &Finding::place,
                "where the evidence stands: file and line, or a variable");
  return described;
}

const Described<KernelComparison::Row>& described_kernel_kind() {
  using Row = KernelComparison::Row;
  static const auto described =
      Described<Row>("KernelKind", "kernels of one kind, in both traces", Layout::line)
          .word("kind", &Row::kind, all_up_to(KernelKind::other),
                "what the kernels do, told by their names")
          .time(
              "before_us", [](const Row& of) { return of.before.time; },
              "time of such kernels in a step of OLD")
          .time(
              "after_us", [](const Row& of) { return of.after.time; },
              "time of such kernels in a step of NEW")
          .ratio(
              "before_count", [](const Row& of) { return of.before.count; },
              "number of such kernels in a step of OLD")
          .ratio(
              "after_count", [](const Row& of) { return of.after.count; },
              "number of such kernels in a step of NEW");
  return described;
}

std::vector<KernelComparison::Row> shown_kernel_kinds(const DifferenceReport& report) {
  return report.kernels ? report.kernels->rows : std::vector<KernelComparison::Row>();
}

const Described<LateRank>& described_late_rank() {
  static const auto described =
      Described<LateRank>("LateRank", "how often a rank was last, and what it took longer in",
                          Layout::line)
          .integer("rank", &LateRank::rank, "the rank")
          .integer("times_last", &LateRank::times_last,
                   "collectives at which the others waited for the rank")
          .integer("steps_last", &LateRank::steps_last,
                   "steps in which the rank made the others wait longest")
          .time("caused_us", &LateRank::caused,
                "what the median other rank waited for it in a step")
          .time("waited_us", &LateRank::waited, "what the rank itself waited in a step")
          .word("longer_in", &LateRank::work, all_step_parts(),
                "the part of the rank's step that is longest beside the median of the others; null "
                "where none is longer")
          .one_of("phase", unless_empty(&LateRank::phase), {"forward", "backward", "optimizer"},
                  "which kernels are longer, where longer_in is kernels; else null")
          .time("longer_us", &LateRank::longer,
                "how much longer longer_in is than the median of the others; 0 where "
                "nothing is longer");
  return described;
}

const Described<LateRanks>& described_late_ranks() {
  static const auto described =
      Described<LateRanks>("LateRanks", "which ranks the others waited for")
          .word("pattern", &LateRanks::pattern, all_up_to(LatePattern::unknown),
                "what late ranks have in common; unknown: there are fewer than five steps")
          .integers("late", &LateRanks::late, "ranks that are late, the most costly first")
          .integer("steps", &LateRanks::steps, "steps that all ranks recorded")
          .integer("collectives", &LateRanks::collectives, "collectives of the recorded steps")
          .boolean("all_ranks", &LateRanks::complete,
                   "whether all ranks of the job were recorded; else the last may be one that was "
                   "not")
          .time("transfer_us", &LateRanks::transfer, "transfers of all collectives of a step")
          .list("ranks", &LateRanks::ranks, described_late_rank(), "each rank, by its number");
  return described;
}

using RankWaiting = std::pair<int, Duration>;

const Described<RankWaiting>& described_rank_waiting() {
  static const auto described =
      Described<RankWaiting>("RankWaiting", "what a rank waited at a collective", Layout::line)
          .integer("rank", &RankWaiting::first, "the rank")
          .time("wait_us", &RankWaiting::second, "what it waited for the last rank");
  return described;
}

const Described<RankCollectiveLine>& described_joined_collective() {
  static const auto described =
      Described<RankCollectiveLine>("JoinedCollective", "a collective that all ranks recorded",
                                    Layout::line)
          .text("operation", &RankCollectiveLine::operation,
                "which collective it is, such as allreduce")
          .integer("bytes", &RankCollectiveLine::bytes, "its size; null where not recorded")
          .time("transfer_us", &RankCollectiveLine::transfer,
                "its time on the last rank, which waits for no other")
          .integer("last_rank", &RankCollectiveLine::last_rank, "the rank that arrived last")
          .list("waits", &RankCollectiveLine::waits, described_rank_waiting(),
                "what each rank waited");
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

/// Pairs of nodes that lie alike to groups of nodes.
struct CountedPairs {
  std::size_t pairs, slow;
  double median_gbps;
};

const Described<CountedPairs>& described_group_pairs() {
  static const auto described =
      Described<CountedPairs>("GroupPairs", "pairs of nodes across groups, or within them",
                              Layout::line)
          .integer("pairs", &CountedPairs::pairs, "pairs of nodes")
          .integer("slow", &CountedPairs::slow, "how many of the pairs are slow")
          .ratio("median_gbps", &CountedPairs::median_gbps,
                 "the median of their bus bandwidths, in GB/s");
  return described;
}

/// Pairs of nodes, and what they say.
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
                 "nodes that have no fast pair, though the nodes they are paired with have "
                 "one")
          .list("slow_pairs", of_verdict(&PairVerdict::slow), described_pair_bandwidth(),
                "pairs below 80 % of the fastest, in the order of the file")
          .list("slow_paths", of_verdict(&PairVerdict::slow_paths), described_pair_bandwidth(),
                "slow pairs whose path is slow: both nodes are fast with another")
          .list("undecided", of_verdict(&PairVerdict::undecided), described_pair_bandwidth(),
                "slow pairs of which nothing tells what is slow: neither node is fast with any")
          .text_rows(
              "groups", [](const Pairs& of) -> const auto& { return of.verdict.groups.groups; },
              "groups of nodes that are fast among themselves and slow with other groups; empty: "
              "there are none")
          .object("across_groups", &pairs_across, described_group_pairs(),
                  "pairs of nodes of two groups; null where there are no groups")
          .object("within_groups", &pairs_within, described_group_pairs(),
                  "pairs of nodes of one group; null where there are no groups");
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
          .ratio("max_slowdown_percent", &Limit::percent, "the limit, as --max-slowdown gives it")
          .boolean(
              "exceeded", [](const Limit& of) { return of.exceeded.has_value(); },
              "whether NEW is slower by more than the limit; the exit code is then 4")
          .word("row", &part_that_grew, all_step_parts(),
                "the cause of the row that grew most; null where the limit is not exceeded, or no "
                "row grew");
  return described;
}

/// What is known only where there are times.
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
                        "two measured steps: where the time between them went, and why")
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
                "NEW's step less OLD's, or NEW's all-reduce less OLD's of two logs; null "
                "where no times are compared")
          .ratio("change_percent",
                 where_timed<double>([](const StepDifference& of) { return of.percent(); }),
                 "the change in percent of OLD; null where no times are compared")
          .time("noise_us",
                where_timed<Duration>([](const StepDifference& of) { return of.noise; }),
                "what two runs of one thing may differ by, an 80 % interval; null where no times "
                "are compared")
          .boolean("beyond_noise",
                   where_timed<bool>([](const StepDifference& of) { return of.beyond_noise(); }),
                   "whether the change is larger than noise_us; null where no times are compared")
          .text("expected_of", unless_empty(&Report::expected_of),
                "what was simulated for --cluster; null where nothing was")
          .time("expected_change_us", &Report::expected_change,
                "what the simulation for --cluster says the change should be; null where "
                "nothing was simulated")
          .list("sizes", &shown_size_changes, described_size_change(),
                "each size that both logs have, ascending. Only of two logs of nccl-tests",
                Absent::left_out)
          .list("rows", &shown_difference_rows, described_diff_row(),
                "parts of the step, the largest change first; all of them sum to change_us")
          .list("causes", &Report::causes, described_slowdown_cause(),
                "possible causes, most likely first; empty where nothing is beyond noise, "
                "or nothing tells")
          .texts("compared", &Report::compared,
                 "kinds of evidence that both sides hold, such as environment variables; a kind "
                 "that one side alone holds is named in missing")
          .list("excluded", &Report::excluded, described_excluded_cause(),
                "causes that the evidence of both sides rules out")
          .list("findings", &Report::findings, described_finding(),
                "what NEW's evidence says, alone and against OLD's, problems of OLD that are gone "
                "included")
          .list("kernel_kinds", &shown_kernel_kinds, described_kernel_kind(),
                "kernels of each side's first trace by kind, the largest change first; "
                "empty where a side has no trace")
          .object("late_ranks", &Report::late, described_late_ranks(),
                  "which ranks of NEW the others waited for; null where fewer than two "
                  "ranks recorded the same all-reduces")
          .list("collectives", &Report::collectives, described_joined_collective(),
                "each collective of NEW's step, joined over the traces of several ranks; empty "
                "where there are none")
          .object("pairs", &judged_pairs, described_node_pairs(),
                  "bandwidths of pairs of nodes; null without --pairs")
          .object("limit", &Report::limit, described_slowdown_limit(),
                  "the largest slowdown that is allowed. Only with --max-slowdown",
                  Absent::left_out)
          .texts(
              "missing", [](const Report& of) -> const auto& { return of.difference.missing; },
              "what could not be compared, and what would make it so, a sentence each")
          .texts("warnings", &Report::warnings, "what a reader should know, a sentence each");
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
