// The difference between two measured steps, as text and as ddpsim.diff/1.
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

/// A collective of one step that all given ranks recorded, no matter who calls it.
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
  /// Only for a log of all-reduces: the size that is compared. The "step" is then the time of that
  /// all-reduce.
  std::optional<Bytes> all_reduce;
};

struct DifferenceReport {
  DifferenceSide before, after;
  /// Whether both sides have times to compare. False: only findings are compared.
  bool timed = true;
  StepDifference difference;
  std::optional<AllReduceChanges> all_reduces;  ///< sizes that two logs share
  std::vector<SlowdownCause> causes;
  std::vector<std::string> compared;    ///< kinds of evidence on both sides
  std::vector<ExcludedCause> excluded;  ///< ruled out by both sides
  /// What the new side's evidence says alone, and compared with the old side's.
  std::vector<Finding> findings;
  std::optional<LateRanks> late;                ///< on the new side
  std::vector<RankCollectiveLine> collectives;  ///< in the new side's step
  std::optional<KernelComparison> kernels;      ///< by kind, from both traces
  std::optional<PairMatrix> pairs;
  /// What was simulated for --cluster: "… on dgx1v, now with PyTorch 2.13". Empty without
  /// --cluster.
  std::string expected_of;
  std::optional<Duration> expected_change;
  struct Limit {
    double percent = 0;
    std::optional<Slowdown> exceeded;
    /// Only for two logs: the all-reduce that slowed down most.
    std::optional<Bytes> size;
  };
  std::optional<Limit> limit;
  std::vector<std::string> warnings;
};

std::string difference_json(const DifferenceReport& report);
std::string difference_text(const DifferenceReport& report, const TerminalStyle& style);
/// A row for each part: cause,before_us,after_us,us,low_us,high_us,expected_us,bound,points
std::string difference_csv(const DifferenceReport& report);
/// Why a check with --max-slowdown fails: "12.30 % slower, above --max-slowdown 5%; …".
std::string slowdown_words(const DifferenceReport& report);

}  // namespace ddpsim
