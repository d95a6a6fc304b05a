// Two measured steps side by side, for the terminal and as ddpsim.diff/1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/calibrate/logs/all_reduce_changes.hpp"
#include "ddpsim/diagnose/diff/late_ranks.hpp"
#include "ddpsim/diagnose/diff/pair_matrix.hpp"
#include "ddpsim/diagnose/diff/slowdown_causes.hpp"
#include "ddpsim/diagnose/diff/step_difference.hpp"
#include "ddpsim/diagnose/evidence/finding.hpp"
#include "ddpsim/diagnose/evidence/kernel_changes.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// A collective of one step that all ranks given recorded, whatever calls it.
struct RankCollectiveLine {
  std::string operation;  ///< "allreduce", "alltoall"
  std::optional<Bytes> bytes;
  Duration transfer;
  int last_rank = 0;
  std::vector<std::pair<int, Duration>> waits;  ///< by rank
};

struct DifferenceSide {
  std::string source;  ///< as given
  std::string kind;    ///< "traces of 8 ranks", "a step time"
  std::optional<double> samples_per_step_per_gpu;
  std::optional<Bytes> all_reduce;  ///< of a log: its size; the "step" is that all-reduce's time
};

struct DifferenceReport {
  DifferenceSide before, after;
  bool timed = true;  ///< false: no times to compare, findings are all there is
  StepDifference difference;
  std::optional<AllReduceChanges> all_reduces;  ///< of two logs: every size that both have
  std::vector<SlowdownCause> causes;
  std::vector<std::string> compared;            ///< kinds of evidence that both sides hold
  std::vector<ExcludedCause> excluded;          ///< by the evidence of both sides
  std::vector<Finding> findings;                ///< of the new side, and of one against the other
  std::optional<LateRanks> late;                ///< of the new side
  std::vector<RankCollectiveLine> collectives;  ///< of the new side's step
  std::optional<KernelComparison> kernels;      ///< by kind, of both sides' traces
  std::optional<PairMatrix> pairs;
  /// What a model says: "… on dgx1v, now with PyTorch 2.13"; empty where none was asked.
  std::string expected_of;
  std::optional<Duration> expected_change;
  struct Limit {
    double percent = 0;
    std::optional<Slowdown> exceeded;
    std::optional<Bytes> size;  ///< of two logs: the all-reduce that got slower most
  };
  std::optional<Limit> limit;
  std::vector<std::string> warnings;
};

std::string difference_json(const DifferenceReport& report);
std::string difference_text(const DifferenceReport& report, const TerminalStyle& style);
/// A row a part: cause,before_us,after_us,us,low_us,high_us,expected_us,bound,points
std::string difference_csv(const DifferenceReport& report);
/// "the step got 12.3 % longer: …", for a check that fails.
std::string slowdown_words(const DifferenceReport& report);

}  // namespace ddpsim
