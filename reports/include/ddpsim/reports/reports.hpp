// Results -> terminal, JSON, CSV, SVG, Perfetto. Writers are functions of values: they compute nothing
// that a result does not hold and know no clock.
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

/// What a report says beside its result.
struct ReportContext {
  Job job;  ///< as it was asked for; an answer may be of other settings of it
  Provenance provenance;
  Trust trust;
};

/// What the GPU does with the step that is reported, and how fast the job trains by it.
struct ReportedStep {
  StepBudget budget;
  TrainingSpeed speed;
  std::optional<DataSupply> data = {};  ///< where its batches come from; absent where nothing says
};

/// All that `simulate` has to say.
struct SimulateReport {
  ReportContext context;
  SimulationResult result;
  ReportedStep step;
  std::optional<PeakMemory> memory{};            ///< absent where it was not counted
  std::optional<Duration> iteration_if_alike{};  ///< the steady step if all ranks were alike
  std::optional<TimelineDifference> measured{};  ///< a measured timeline laid beside
  std::optional<ElasticAnswer> elastic{};        ///< a long run whose nodes fail
  std::string next_command{};                    ///< empty: no hint
};

/// All that `tune` has to say.
struct TuneReport {
  ReportContext context;
  TuneResult result;
  ReportedStep step;
  /// Why it recommends nothing, not even the default; empty where it does.
  std::string no_cap_because{};
  std::optional<AdviceRow> better_setting{};  ///< one that beats every cap
  std::string next_command{};                 ///< empty: no hint
};

/// All that `advise` has to say.
struct AdviceReport {
  ReportContext context;
  Advice advice;
  ReportedStep step;
  std::string does_not_fit{};  ///< "needs 35 GiB, and V100 has 32 GiB"; empty: it fits
  std::string would_fit{};     ///< and with what it would: "A batch of 4 would fit by …"
  std::string next_command{};  ///< empty: no hint
};

/// All that `allreduce` has to say; the table holds its confidence.
struct AllReduceReport {
  AllReduceTable table;
  Cluster cluster;
  TorchVersion torch;
  NcclVersion nccl;
  Warnings warnings{};
};

/// A candidate that was compared.
struct CandidateContext : ReportContext {
  std::optional<PeakMemory> memory{};      ///< absent where it was not counted
  std::optional<ElasticAnswer> elastic{};  ///< a long run whose nodes fail
};

/// A candidate that could not be compared.
struct NotCompared {
  std::string label;
  std::string cluster_text;  ///< as typed
  std::optional<int> ranks;  ///< absent where its cluster could not be read
  std::optional<PeakMemory> memory;
  std::string error;  ///< "needs about 41.2 GiB of memory per GPU, and V100 has 32 GiB at most"
};

/// How much is to be trained.
struct Training {
  double samples = 0;
  bool of_steps = false;  ///< counted in steps, which have as many samples on every candidate
};

/// Places of a range between which a condition holds, both included.
struct NamedInterval {
  std::string from;
  std::string to;
  double from_value =
      0;  ///< the row, of candidates that stand in the table; of a searched range what was put in
  double to_value = 0;
  bool from_first = false;  ///< it begins where the range does …
  bool to_last = false;     ///< … and ends there
};

/// Where along a range a condition holds, first to last.
struct Until {
  std::string condition;  ///< "efficiency<90%", "new faster than old"
  std::string range;      ///< "[1..64]", searched; empty: of candidates that stand in the table
  std::string candidate;  ///< whose figure, of a searched range
  std::string workload;   ///< whose figure, of several workloads
  std::string last;       ///< the range's last place
  std::vector<NamedInterval> predicted;
  std::vector<NamedInterval> possible;
  std::vector<NamedInterval> certain;
  std::size_t asked = 0;  ///< places of a searched range
  std::size_t without_answer = 0;
};

/// All that `compare` has to say.
struct CompareReport {
  Comparison comparison;
  /// One a job, each with its label; what all jobs share, and warnings, stand in the first.
  std::vector<CandidateContext> contexts;
  std::vector<NotCompared> not_compared{};
  bool several_schemes = false;  ///< were asked for: a candidate is called by its own
  std::optional<Costs> costs{};  ///< where anything has a price
  std::optional<Training> training{};
  std::optional<std::int64_t> global_batch{};  ///< absent: the batch per GPU is fixed
  std::vector<Until> until{};
  std::string next_command{};  ///< empty: no hint
};

/// What costs are told of: all that is to be trained, else a million tokens, else a million samples, else a thousand steps of
/// each rank.
struct Amount {
  double of_work = 0;  ///< units of work (WorkTime)
  std::string words;   ///< "a million samples"
};
Amount amount_of(const CompareReport& report);

/// How the terminal takes it: width in columns, colour or not, how much of it.
struct TerminalStyle {
  int width = 100;
  bool colour = false;
  std::size_t most_lines = 0;  ///< of simulate, tune and compare; 0: all there is to say
};

/// Buckets that DDP itself logged, laid beside those assigned here.
struct LoggedBuckets {
  std::vector<Bytes> bytes;  ///< launch order
  std::string remedy;        ///< where they differ: what would make them alike
};

/// All-reduces of a log, drawn beside a table.
struct MeasuredAllReduces {
  std::string source;  ///< the log's file
  std::vector<std::pair<Bytes, double>> time_us;
};

// One document each, two-space indented, newline at the end; times printed from integer picoseconds
// with at most 6 decimals, sizes as integers.
std::string result_json(const SimulateReport& report);
std::string tune_json(const TuneReport& report);
std::string advice_json(const AdviceReport& report);
std::string compare_json(const CompareReport& report);
std::string buckets_json(const std::vector<Bucket>& buckets,
                         const std::vector<std::string>& warnings, TorchInForce torch,
                         const std::optional<LoggedBuckets>& logged = std::nullopt);

std::string allreduce_json(const AllReduceReport& report);

/// "the GPU is busy for 101 ms of 170 ms and waits 48 ms for input, 17 ms for the host"; what takes hardly anything is left out.
std::string budget_text(const StepBudget& budget, bool measured = false);
std::string result_text(const SimulateReport& report, const TerminalStyle& style);
std::string tune_text(const TuneReport& report, const TerminalStyle& style);
std::string advice_text(const AdviceReport& report, const TerminalStyle& style);
std::string compare_text(const CompareReport& report, const TerminalStyle& style);
std::string buckets_text(const std::vector<Bucket>& buckets, const Workload& workload,
                         const TerminalStyle& style,
                         const std::optional<LoggedBuckets>& logged = std::nullopt);

/// all_reduce_perf's table with its columns, what is ours behind them; every other line begins with "#".
std::string allreduce_text(const AllReduceReport& report, const TerminalStyle& style);

/// Columns with units in their names; one row per bucket, per point of the curve, per row of advice, per job.
std::string result_csv(const SimulationResult& result);
/// Of a step under a scheme without buckets: a row a collective.
std::string collectives_csv(const SimulationResult& result);
std::string tune_csv(const TuneReport& report);
std::string advice_csv(const Advice& advice);
std::string compare_csv(const CompareReport& report);
std::string buckets_csv(const std::vector<Bucket>& buckets);
std::string allreduce_csv(const AllReduceTable& table);

/// Figures, an SVG document each (docs/reference/formats.md, Figures): step time by cap; busbw by size, beside what was measured; training
/// speed by number of GPUs.
std::string tune_svg(const TuneReport& report);
std::string allreduce_svg(const AllReduceReport& report,
                          const std::optional<MeasuredAllReduces>& measured = std::nullopt);
std::string compare_svg(const CompareReport& report);

/// A Python module that wraps a model as advised, or as today; `made_by`: the program and the command. Where nothing is
/// worth changing, both are alike.
std::string advice_python(const AdviceReport& report, const AdviceRow* proposed,
                          const std::string& made_by);
/// What NCCL chooses so tuned, as lines of its example tuner plugin.
std::string tuner_csv(const CollectiveTuning& tuning, const ReportContext& context,
                      const std::string& made_by);

/// ddpsim.timeline/1
std::string timeline_json(const Timeline& timeline);

/// What a Perfetto trace shows beyond a timeline and its buckets; each part may be missing.
struct PerfettoBeside {
  const Job* job = nullptr;         ///< whose buckets they are: counters, names of parameters
  const Timeline* other = nullptr;  ///< laid beside, its ranks as processes of their own …
  std::string_view other_is =
      "measured";  ///< … whose names begin so, and those of `timeline` with "simulated"
};

/// Perfetto protobuf: a process per rank, a track per stream and per bucket, arrows
/// ready -> launch -> start -> done.
std::string perfetto(const Timeline& timeline, const std::vector<BucketResult>& buckets,
                     const PerfettoBeside& beside = {});

}  // namespace ddpsim
