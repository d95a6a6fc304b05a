// Ranks causes from the rows of a difference and other evidence. Each cause comes with its evidence
// and the measurement that would decide. A pure function with one rule:
//
//   weight(cause) = max over its evidence of  share * strength
//
// share: how much of all that got longer lies in the rows that the cause can lengthen. (If the step
// got shorter, all that got shorter.) Waits for a rank with known steps are distributed as that
// rank's own rows grew, because what makes it late makes the others wait.
//
// strength:
// - 1 for a finding that is new,
// - 0.9 for another setting,
// - 0.5 for another version, which may have changed anything,
// - 1 for a problem that is gone, if the step got shorter,
// - at most 0.45 for a row alone, because a row has several possible causes. They are listed by
// frequency (kOfKernels and similar lists in row_causes.cpp).
//
// "unknown" precedes all causes that rest on rows or versions alone in two cases: most of the
// change lies in no row, or only times of all-reduces are known.
//
// The weights order causes; they are no probabilities. They were chosen once, before any case was
// seen. Direct evidence of a mechanism precedes a hint, and a hint precedes what a row may mean in
// general.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ddpsim/diagnose/diff/excluded_causes.hpp"
#include "ddpsim/diagnose/diff/late_ranks.hpp"
#include "ddpsim/diagnose/diff/pair_matrix.hpp"
#include "ddpsim/diagnose/diff/step_difference.hpp"
#include "ddpsim/diagnose/evidence/finding.hpp"
#include "ddpsim/diagnose/evidence/kernel_changes.hpp"

namespace ddpsim {

struct SlowdownCause {
  CauseClass what = CauseClass::unknown;
  std::vector<std::string> evidence;  ///< one sentence each; not empty
  /// What to measure next to tell this cause from the next one.
  std::string decide_by;
  double weight = 0;  ///< as defined above; descending
};

/// Something other than a finding that differs now: "torch 1.13 before, 2.13 now".
struct SettingChange {
  CauseClass what = CauseClass::unknown;
  std::string says;
  std::vector<StepPart> lengthens;  ///< rows it can change; empty: any
  bool version = false;
  FindingEffect effect = FindingEffect::either;
  /// The most it can have cost of a step, if that was measured.
  std::optional<Duration> at_most;
};

struct SlowdownEvidence {
  std::vector<Finding> before;   ///< problems of the old side
  std::vector<Finding> now;      ///< problems of the new side
  std::vector<Finding> changes;  ///< differences between the sides
  /// Problems of the old side that the new one no longer has.
  std::vector<Finding> repairs;
  std::vector<ExcludedCause> excluded;  ///< no candidates for rows
  std::vector<SettingChange> settings;
  std::optional<LateRanks> late;  ///< of the new side
  /// How the own steps of the rank that others wait for changed, which tells why it is late. Absent
  /// if either step is not known.
  std::optional<StepDifference> late_difference;
  std::optional<KernelComparison> kernels;  ///< between the traces of both sides
  std::optional<PairVerdict> pairs;         ///< of nodes, as they are now
  bool on_cpu = false;                      ///< the model computes on the host
  /// Whether both sides tell how long the training threads waited for a core. Then no row names
  /// "host_threads" by itself, except input, whose loaders are other processes.
  bool threads_known = false;
  bool all_reduce_only = false;  ///< the "step" is one all-reduce
};

/// Likely causes of the difference between two steps, the most likely first. Empty if the
/// difference is not larger than noise.
std::vector<SlowdownCause> slowdown_causes(const StepDifference& difference,
                                           const SlowdownEvidence& evidence);

/// Likely causes if no times were measured: first what changed between the two sides, then problems
/// that only the new side has.
std::vector<SlowdownCause> causes_of_findings(const SlowdownEvidence& evidence);

/// The rows that a class of findings can lengthen.
std::vector<StepPart> lengthened_by(CauseClass what);

}  // namespace ddpsim
