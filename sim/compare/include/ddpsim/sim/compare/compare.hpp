// One workload on several clusters: how long a step takes on each, which trains faster, and whether
// the difference is larger than what is not known.
//
// A cluster trains at the speed  samples / step;  where every job takes the same batch per GPU, ranks / step.  The
// scaling efficiency is the step of one of its GPUs working alone over the step of the job:
//
//   efficiency = alone / step,   alone = step - what is lost (loss.hpp),
//
// without any of DDP's work (no copies into buckets, hooks, broadcasts or collectives). 1 would be a
// job of N GPUs that trains N times as fast as one of them.
//
// Two jobs are held against each other source of error by source (lead.hpp).
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

#include "ddpsim/sim/attribution/training_speed.hpp"
#include "ddpsim/sim/certainty/figure_range.hpp"
#include "ddpsim/sim/certainty/measured_correction.hpp"
#include "ddpsim/sim/certainty/speedup.hpp"
#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

struct CompareOptions {
  int threads = 0;  ///< 0: as many as the machine has; the result does not depend on it
  /// By job, what its step was measured at; empty: none was.
  std::vector<std::optional<MeasuredStep>> measured = {};
  /// By job, samples of all its ranks in a step; empty: all take the same on each rank.
  std::vector<double> samples = {};
  /// Told of the jobs simulated and of those assessed, which takes longer; it cannot stop them.
  Progress* progress = nullptr;
};

struct ComparedJob {
  StepTimes times;
  double efficiency() const { return scaling_efficiency(times); }
  FigureRange efficiency_range;  ///< the same scenarios as the step's; a GPU's speed moves both
  Confidence confidence;
  std::optional<Recommendation> best_cap;  ///< absent where not searched (search_caps)
  std::optional<Replay> replay;            ///< where its own step was measured …
  std::optional<MeasuredCorrection>
      correction;  ///< … and may be this job's; `times` are by compute
  std::optional<std::size_t>
      corrected_by;  ///< the job whose measured step corrects this one's, too
  Speedup behind;    ///< lead of the fastest job over this one; all 0 for the fastest itself
  std::optional<WorkTime> work;  ///< set: what it is held against others by
};

struct Comparison {
  std::vector<ComparedJob> jobs;      ///< as they were given
  std::vector<std::size_t> by_speed;  ///< indices of `jobs`, fastest training first
};

/// Every job must be simulatable; there must be at least one.
Comparison compare(const std::vector<Job>& jobs, const CompareOptions& options);

/// Those that may be the fastest: nothing that is known decides between them.
std::vector<std::size_t> contenders(const Comparison& comparison);

/// Searches the best cap of these jobs.
void search_caps(Comparison& comparison, const std::vector<std::size_t>& jobs, int threads,
                 Progress* progress = nullptr);

}  // namespace ddpsim
