// Writes results as text, JSON, CSV, SVG and Perfetto traces. Writers are pure functions: they
// compute nothing that the result does not hold, and read no clock.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/reports/timeline_difference.hpp"
#include "ddpsim/sim/attribution/step_budget.hpp"
#include "ddpsim/sim/attribution/training_speed.hpp"
#include "ddpsim/sim/certainty/allreduce_table.hpp"
#include "ddpsim/sim/certainty/trust.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/compare/compare.hpp"
#include "ddpsim/sim/compare/money.hpp"
#include "ddpsim/sim/data/data_supply.hpp"
#include "ddpsim/sim/elastic/elastic.hpp"
#include "ddpsim/sim/memory/memory.hpp"
#include "ddpsim/sim/nccl/choice_ranges.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "ddpsim/sim/tune/provenance.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

/// What every report contains in addition to its result: the job, where its inputs come from, and
/// how sure the result is, with warnings.
struct ReportContext {
  /// The job as asked for. An answer may be about other settings of it.
  Job job;
  Provenance provenance;
  Trust trust;
};

/// How the GPU spends the reported step, and how fast the job trains with that step.
struct ReportedStep {
  StepBudget budget;
  TrainingSpeed speed;
  /// Where its batches come from; absent if unknown.
  std::optional<DataSupply> data = {};
};

/// The answer of `simulate`.
struct SimulateReport {
  ReportContext context;
  SimulationResult result;
  ReportedStep step;
  std::optional<PeakMemory> memory{};  ///< absent if not counted
  /// The steady step if all ranks were equal.
  std::optional<Duration> iteration_if_alike{};
  std::optional<TimelineDifference> measured{};  ///< compared with a measured timeline
  std::optional<ElasticAnswer> elastic{};        ///< a long run whose nodes fail
  std::string next_command{};                    ///< empty: no hint
};

/// The answer of `tune`.
struct TuneReport {
  ReportContext context;
  TuneResult result;
  ReportedStep step;
  /// Why nothing is recommended, not even the default; empty if something is.
  std::string no_cap_because{};
  std::optional<AdviceRow> better_setting{};  ///< beats every cap
  std::string next_command{};                 ///< empty: no hint
};

/// The answer of `advise`.
struct AdviceReport {
  ReportContext context;
  Advice advice;
  ReportedStep step;
  /// "needs 35 GiB, and V100 has 32 GiB". Empty if the job fits in memory.
  std::string does_not_fit{};
  /// What would fit instead: "A batch of 4 would fit by …".
  std::string would_fit{};
  std::string next_command{};  ///< empty: no hint
};

/// The answer of `allreduce`. The table holds its confidence.
struct AllReduceReport {
  AllReduceTable table;
  Cluster cluster;
  TorchVersion torch;
  NcclVersion nccl;
  Warnings warnings{};
};

/// A candidate that was compared.
struct CandidateContext : ReportContext {
  std::optional<PeakMemory> memory{};      ///< absent if not counted
  std::optional<ElasticAnswer> elastic{};  ///< a long run whose nodes fail
};

/// A candidate that could not be compared.
struct NotCompared {
  std::string label;
  std::string cluster_text;  ///< as typed
  std::optional<int> ranks;  ///< absent if the cluster is unreadable
  std::optional<PeakMemory> memory;
  /// "needs about 41.2 GiB of memory per GPU, and V100 has 32 GiB at most".
  std::string error;
};

/// How much to train.
struct Training {
  double samples = 0;
  /// Stated in steps, which have the same number of samples on every candidate.
  bool of_steps = false;
};

/// An interval of a range, both ends included, in which a condition holds.
struct NamedInterval {
  std::string from;
  std::string to;
  /// The searched value; for candidates of the table, the row.
  double from_value = 0;
  double to_value = 0;
  bool from_first = false;  ///< begins where the range begins
  bool to_last = false;     ///< ends where the range ends
};

/// Where along a range a condition holds.
struct Until {
  std::string condition;  ///< "efficiency<90%", "new faster than old"
  /// The searched range "[1..64]"; empty if the condition was judged for each candidate of the
  /// table.
  std::string range;
  std::string candidate;  ///< whose value it is, if searched
  std::string workload;   ///< whose value it is, if several
  std::string last;       ///< last value of the range
  std::vector<NamedInterval> predicted;
  std::vector<NamedInterval> possible;
  std::vector<NamedInterval> certain;
  /// simulated values of a searched range
  std::size_t asked = 0;
  std::size_t without_answer = 0;
};

/// The answer of `compare`.
struct CompareReport {
  Comparison comparison;
  /// One context for each job, with its label. The first one also holds the warnings and what all
  /// jobs share.
  std::vector<CandidateContext> contexts;
  std::vector<NotCompared> not_compared{};
  /// Several schemes were given, so a candidate's name includes its scheme.
  bool several_schemes = false;
  std::optional<Costs> costs{};  ///< set if anything has a price
  std::optional<Training> training{};
  /// Absent if the batch per GPU is fixed.
  std::optional<std::int64_t> global_batch{};
  std::vector<Until> until{};
  std::string next_command{};  ///< empty: no hint
};

/// The amount of training that costs are printed for: all that is to be trained, else a million
/// tokens, else a million samples, else a thousand steps of each rank.
struct Amount {
  double of_work = 0;  ///< in units of work (WorkTime)
  std::string words;   ///< "a million samples"
};
Amount amount_of(const CompareReport& report);

/// Width of the terminal in columns, whether it shows colours, and how many lines to print.
struct TerminalStyle {
  int width = 100;
  bool colour = false;
  /// Limit for simulate, tune, advise and compare; 0 means no limit.
  std::size_t most_lines = 0;
};

/// Buckets that DDP itself logged, to be compared with those assigned here.
struct LoggedBuckets {
  std::vector<Bytes> bytes;  ///< launch order
  std::string remedy;        ///< what would make them match
};

/// Measured all-reduces of a log, which are drawn next to the predicted ones.
struct MeasuredAllReduces {
  std::string source;  ///< the log's file
  std::vector<std::pair<Bytes, double>> time_us;
};

// Each returns one document, indented by two spaces, with a newline at its end. Times are printed
// from integer picoseconds with at most 6 decimals, sizes as integers.
std::string result_json(const SimulateReport& report);
std::string tune_json(const TuneReport& report);
std::string advice_json(const AdviceReport& report);
std::string compare_json(const CompareReport& report);
std::string buckets_json(const std::vector<Bucket>& buckets,
                         const std::vector<std::string>& warnings, TorchInForce torch,
                         const std::optional<LoggedBuckets>& logged = std::nullopt);

std::string allreduce_json(const AllReduceReport& report);

/// "the GPU is busy for 101 ms of 170 ms and waits 48 ms for input, 17 ms for the host". Negligible
/// parts are left out.
std::string budget_text(const StepBudget& budget, bool measured = false);
std::string result_text(const SimulateReport& report, const TerminalStyle& style);
std::string tune_text(const TuneReport& report, const TerminalStyle& style);
std::string advice_text(const AdviceReport& report, const TerminalStyle& style);
std::string compare_text(const CompareReport& report, const TerminalStyle& style);
std::string buckets_text(const std::vector<Bucket>& buckets, const Workload& workload,
                         const TerminalStyle& style,
                         const std::optional<LoggedBuckets>& logged = std::nullopt);

/// The table of all_reduce_perf. Columns that only ddpsim has follow, and every other line begins
/// with "#".
std::string allreduce_text(const AllReduceReport& report, const TerminalStyle& style);

/// Tables with units in the column names: a row for each bucket, point of the curve, row of advice
/// or job.
std::string result_csv(const SimulationResult& result);
/// For a scheme without buckets: a row for each collective of the step.
std::string collectives_csv(const SimulationResult& result);
std::string tune_csv(const TuneReport& report);
std::string advice_csv(const Advice& advice);
std::string compare_csv(const CompareReport& report);
std::string buckets_csv(const std::vector<Bucket>& buckets);
std::string allreduce_csv(const AllReduceTable& table);

/// Plots as SVG documents (docs/reference/formats.md, Figures): step time by cap; busbw by size, with
/// measured points; training speed by number of GPUs.
std::string tune_svg(const TuneReport& report);
std::string allreduce_svg(const AllReduceReport& report,
                          const std::optional<MeasuredAllReduces>& measured = std::nullopt);
std::string compare_svg(const CompareReport& report);

/// A Python module that wraps a model with the proposed or the current settings. Both are the same
/// if nothing is worth changing. `made_by` is the program and the command.
std::string advice_python(const AdviceReport& report, const AdviceRow* proposed,
                          const std::string& made_by);
/// NCCL's choices with this tuning, as a configuration of its example tuner plugin.
std::string tuner_csv(const CollectiveTuning& tuning, const ReportContext& context,
                      const std::string& made_by);

/// ddpsim.timeline/1
std::string timeline_json(const Timeline& timeline);

/// What a Perfetto trace can show besides a timeline and its buckets. Each part is optional.
struct PerfettoBeside {
  /// The job of the buckets, for counters and names of parameters.
  const Job* job = nullptr;
  /// For a counter of allocated memory; needs the job.
  const PeakMemory* memory = nullptr;
  /// A second timeline to compare with. Its ranks become processes of their own.
  const Timeline* other = nullptr;
  /// First word of the names of those processes. The names of the others then begin with
  /// "simulated".
  std::string_view other_is = "measured";
};

/// A Perfetto trace (protobuf): a process per rank, a track per stream and per bucket, and arrows
/// from ready through launch and start to done.
std::string perfetto(const Timeline& timeline, const std::vector<BucketResult>& buckets,
                     const PerfettoBeside& beside = {});

}  // namespace ddpsim
