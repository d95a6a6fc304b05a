// Rows of a difference and what other evidence says -> causes, ranked, each with its evidence and the measurement that
// would decide. A pure function; one rule for all:
//
//   weight(cause) = max over its evidence of  share * strength
//
// share: of all that got longer (where the step got shorter: shorter), what lies in the rows the cause can lengthen. Waits
// for a rank whose own steps are known are shared out as its own rows grew: what makes it late makes the others wait.
// strength: 1 of a finding that is there now and was not before, 0.9 of another setting, 0.5 of another version (it can
// be anything that version changed). A problem of before that is gone has the strength of one that has come, where the
// step got shorter. Of the row alone the strength is at most 0.45, since a row has several possible causes: its list
// stands from the most frequent on (kOfKernels and its like in row_causes.cpp). Where most of the change is in no row, or all there
// is are times of all-reduces, "unknown" comes before all that rests on rows or versions alone.
//
// What the numbers are worth: they order causes, they are no probabilities. Chosen once, before any case was looked at
// through them, so that direct evidence of a mechanism comes before a hint, a hint before what a row may always mean.
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
  std::vector<std::string> evidence;  ///< a sentence each; not empty
  std::string decide_by;  ///< what to measure next: it would tell this one from the one behind it
  double weight = 0;      ///< see above; descending
};

/// Something that is otherwise now, beyond findings: "torch 1.13 before, 2.13 now".
struct SettingChange {
  CauseClass what = CauseClass::unknown;
  std::string says;
  std::vector<StepPart> lengthens;  ///< rows it can change; empty: any
  bool version = false;
  FindingEffect effect = FindingEffect::either;
  std::optional<Duration> at_most;  ///< of a step, where it was measured what it can have cost
};

struct SlowdownEvidence {
  std::vector<Finding> before;          ///< problems of the old side …
  std::vector<Finding> now;             ///< … and of the new one
  std::vector<Finding> changes;         ///< of one against the other
  std::vector<Finding> repairs;         ///< problems of the old side that the new one no longer has
  std::vector<ExcludedCause> excluded;  ///< no candidates of rows
  std::vector<SettingChange> settings;
  std::optional<LateRanks> late;  ///< of the new side
  /// Of the rank that others wait for, its own steps: why it is late. Absent where one of them is not known.
  std::optional<StepDifference> late_difference;
  std::optional<KernelComparison> kernels;  ///< of both sides' traces
  std::optional<PairVerdict> pairs;         ///< of nodes, as they are now
  bool on_cpu = false;                      ///< the model computes on the host
  /// Both sides tell how long the threads that train waited for a core: no row names "host_threads" by itself, but
  /// input, whose loaders are other processes.
  bool threads_known = false;
  bool all_reduce_only = false;  ///< the "step" is one all-reduce
};

/// Most likely first; empty where the difference is not beyond noise.
std::vector<SlowdownCause> slowdown_causes(const StepDifference& difference,
                                           const SlowdownEvidence& evidence);

/// The same where nothing was timed: changes, then problems of now that were not there before.
std::vector<SlowdownCause> causes_of_findings(const SlowdownEvidence& evidence);

/// Rows that a class of findings can lengthen.
std::vector<StepPart> lengthened_by(CauseClass what);

}  // namespace ddpsim
