// One workload on several clusters: how long a step takes on each, which trains faster, and whether
// the difference is larger than what is not known.
//
// Every job takes the same batch per GPU, so a cluster trains at the speed  ranks / step.  The
// scaling efficiency is the step of one of its GPUs working alone over the step of the job:
//
//   efficiency = alone / step,   alone = step - what is lost (loss.hpp),
//
// without any of DDP's work (no copies into buckets, hooks, broadcasts or collectives). 1 would be a
// job of N GPUs that trains N times as fast as one of them.
//
// Two jobs are compared source of error by source (the scenarios of `tune`): interference and the costs of DDP
// are drawn alike for both, since PyTorch is the same on both; how fast collectives are is drawn
// alike for two sizes of one cluster, but for each apart where the clusters differ or only one of
// them has a network in use; the speed of a GPU that was not recorded on is drawn alike for clusters
// with that same GPU.
//
// A job whose step was measured takes that step. What its replay misses is carried over, as compute, to
// other sizes of its cluster, as long as both are within one node or both are not; from a single GPU, to
// every cluster with that GPU. Elsewhere nothing is. Of 204 published rows of 55 stacks, each predicted
// from another size of its own: within such a class the error falls from 2.1 % (p90 8.1) to 1.6 (5.9),
// between one node and several it would rise from 2.7 (13) to 5.1 (30). To the step carried over, both not
// carrying it and carrying it as communication are a source of error.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ddpsim/sim/measured_correction.hpp"
#include "ddpsim/sim/tune.hpp"

namespace ddpsim {

struct CompareOptions {
  int threads = 0;   ///< 0: as many as the machine has; the result does not depend on it
  bool tune = true;  ///< search the best cap of every job
  /// By job, what its step was measured at; empty: none was.
  std::vector<std::optional<MeasuredStep>> measured = {};
};

/// By how much one job trains faster than another, in percent of the other's speed.
struct Lead {
  double percent = 0;
  double low_percent = 0;
  double high_percent = 0;
  /// Faster in whatever scenario, not only in the likeliest.
  bool certain() const { return low_percent > 0; }
};

struct ComparedJob {
  StepTimes times;
  double efficiency() const { return times.alone() / times.iteration; }
  Confidence confidence;
  std::optional<Recommendation> best_cap;  ///< absent where not searched
  std::optional<Replay> replay;            ///< where its own step was measured …
  std::optional<MeasuredCorrection>
      correction;  ///< … and may be this job's; `times` are by compute
  std::optional<std::size_t>
      corrected_by;  ///< the job whose measured step corrects this one's, too
  Lead behind;       ///< lead of the fastest job over this one; all 0 for the fastest itself
};

struct Comparison {
  std::vector<ComparedJob> jobs;      ///< as they were given
  std::vector<std::size_t> by_speed;  ///< indices of `jobs`, fastest training first
};

/// Every job must be simulatable; there must be at least one.
Comparison compare(const std::vector<Job>& jobs, const CompareOptions& options);

}  // namespace ddpsim
