// One workload on several clusters: how long a step takes on each, which one trains faster, and
// whether the difference exceeds the uncertainty.
//
// The speed of a cluster is  samples / step,  or  ranks / step  if every job takes the same batch
// per GPU. The scaling efficiency compares the job's step with that of one of its GPUs working
// alone:
//
//   efficiency = alone / step,   alone = step - what is lost (loss.hpp),
//
// where "alone" has none of DDP's work (no copies into buckets, hooks, broadcasts or collectives).
// At efficiency 1, a job of N GPUs trains N times as fast as one of them.
//
// Two jobs are compared by source of error (speedup.hpp).
//
// A job whose step was measured takes that step. The residual of its replay is carried over, as
// compute, to other sizes of its cluster, if both are within one node or both are not. From a
// single GPU it is carried over to every cluster with that GPU, and otherwise nowhere. This was
// checked on 204 published rows of 55 stacks, each predicted from another size of its own stack.
// Within such a class the error falls from 2.1 % (p90 8.1) to 1.6 % (5.9). Between one node and
// several it would rise from 2.7 % (13) to 5.1 % (30). For the step carried over to, two
// alternatives count as sources of error: not carrying the residual, and carrying it as
// communication.
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
  /// 0: every core; the result does not depend on it.
  int threads = 0;
  /// The measured step of each job; empty if none was measured.
  std::vector<std::optional<MeasuredStep>> measured = {};
  /// For each job, the samples of all its ranks in a step; empty if every rank takes the same
  /// number in all jobs.
  std::vector<double> samples = {};
  /// Receives the number of jobs simulated and of jobs assessed (which takes longer); it cannot
  /// stop them.
  Progress* progress = nullptr;
};

struct ComparedJob {
  StepTimes times;
  double efficiency() const { return scaling_efficiency(times); }
  /// From the same scenarios as the step's interval; the speed of a GPU moves both.
  FigureRange efficiency_range;
  Confidence confidence;
  std::optional<Recommendation> best_cap;  ///< absent if not searched (search_caps)
  std::optional<Replay> replay;            ///< if its own step was measured
  /// Set if the measured step may be this job's; `times` then explain it by compute.
  std::optional<MeasuredCorrection> correction;
  /// The job whose measured step also corrects this one's.
  std::optional<std::size_t> corrected_by;
  /// How much faster the fastest job is than this one; all 0 for the fastest itself.
  Speedup behind;
  /// What it is compared by; always set.
  std::optional<WorkTime> work;
};

struct Comparison {
  std::vector<ComparedJob> jobs;      ///< in the order given
  std::vector<std::size_t> by_speed;  ///< indices of `jobs`, fastest training first
};

/// There must be at least one job, and every job must be one that can be simulated.
Comparison compare(const std::vector<Job>& jobs, const CompareOptions& options);

/// The jobs that may be the fastest; nothing known decides between them.
std::vector<std::size_t> contenders(const Comparison& comparison);

/// Searches the best cap for these jobs.
void search_caps(Comparison& comparison, const std::vector<std::size_t>& jobs, int threads,
                 Progress* progress = nullptr);

}  // namespace ddpsim
