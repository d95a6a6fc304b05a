// What a simulated step came to. Times are those of rank 0, from the start of its forward on the
// compute stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/data/data_supply.hpp"
#include "ddpsim/sim/data/epoch.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/step/loss.hpp"
#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/timeline.hpp"

namespace ddpsim {

enum class StepPhase { forward, backward, optimizer };
std::string_view name_of(StepPhase phase);  ///< "forward", …

/// A collective of the step, in the order the host of rank 0 launched it.
struct CollectiveResult {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string unit;        ///< whose: a module's name, "bucket 0", a parameter's
  Bytes bytes;             ///< as nccl-tests counts them (collective.hpp)
  TimePoint ready;         ///< what it sends is there, and room for what it brings
  TimePoint launch;        ///< host has enqueued it
  TimePoint start;         ///< the kernel runs on this rank
  TimePoint last_arrival;  ///< the last rank's kernel runs: transfer begins
  TimePoint end;
  StepPhase phase = StepPhase::backward;
  std::optional<CollectiveChoice> choice;
};

/// The all-reduces of a bucket as one: from the start of the first to the end of the last; `bytes` are fewer than the bucket's
/// behind a compression hook.
struct BucketResult : CollectiveResult {
  Bucket bucket;
  int last_rank = 0;
  std::string exposed_because;       ///< empty when the bucket is hidden behind backward compute
  std::vector<Bytes> all_reduces{};  ///< of each of them, in order
};

/// iteration = forward + backward + sync_batchnorm + slowest_gpu + unexplained + exposed_communication + finalize + optimizer +
/// model_averaging + stall, to the picosecond; none of them is negative. Forward, backward and optimizer are those of a usual GPU.
struct StepTimes {
  Duration iteration;
  Duration forward;                ///< buffer broadcast included
  Duration buffer_broadcast;       ///< the part of forward spent in it
  Duration backward;               ///< copies into buckets and interference included
  Duration backward_compute;       ///< without them
  Duration copies_in;              ///< backward's copies into buckets (in the recording or added)
  Duration interference;           ///< backward's slowdown while NCCL kernels ran
  Duration communication;          ///< union over the reducer's collectives of [last arrival, end]
  Duration wait;                   ///< union of [own start, last arrival]
  Duration exposed_communication;  ///< part of communication and wait after the end of backward …
  Duration
      exposed_in_backward;  ///< … and, counted with it, what stops backward behind a hook that waits
  Duration
      exposed_in_forward;  ///< of exposed communication, under a scheme that gathers parameters …
  Duration exposed_in_optimizer;   ///< … before forward reads them, and behind the optimizer
  Duration optimizer_in_backward;  ///< of the optimizer, what lies before the end of backward
  std::optional<double> overlap;   ///< 1 - (exposed transfer / communication)
  Duration finalize;               ///< copies out not already hidden behind exposed communication
  Duration optimizer;
  Duration sync_batchnorm;   ///< waited for SyncBatchNorm's exchanges, in forward and backward
  Duration model_averaging;  ///< a step's share of what local SGD does once in its period
  Duration stall;            ///< between steps, waiting for data included …
  Duration input;            ///< of it: that wait, and the copy of a batch to the GPU …
  Duration input_alone;      ///< where that is simulated: what one GPU by itself would wait so …
  Duration pause;            ///< … and what else the recorded host did between steps
  /// Waiting for the slowest of the GPUs to compute (rank_slowdown.hpp) …
  Duration slowest_gpu;
  /// … and what several ranks cost beyond that, or --rank-slowdown says they do.
  Duration unexplained;
  Duration slowed_backward;  ///< of these two, what lies before the end of backward
  Duration
      launch_bound;  ///< of forward, backward and optimizer: the GPU waits for the host to launch
  /// What the host takes to launch a step, hooks and copies of DDP included, where the workload says what there is
  /// to launch. The step is not shorter.
  std::optional<Duration> host;
  /// Where steps overlap: how long before the end of a step the next one's forward begins. Beside it, so
  /// that `forward` is what is left of it: the step is the period of a pipeline, each instant counted once.
  Duration forward_ahead;
  Loss loss;  ///< what of the iteration one GPU alone, without DDP, does not take

  /// The step of one of its GPUs working alone: forward and backward compute, optimizer, recorded stall. Batches that are
  /// simulated are there (see input_alone).
  Duration alone() const { return iteration - loss.total(); }
  /// What is left of it: gradients', and of parameters gathered for backward.
  Duration exposed_backward() const {
    return exposed_communication - exposed_in_forward - exposed_in_optimizer;
  }
  /// The compute stream stands still only because of communication or another rank.
  Duration blocking_communication() const {
    return exposed_communication + buffer_broadcast + sync_batchnorm + model_averaging;
  }
};

/// Of the slowest GPU, on the clock of a step's buckets, which counts from the start of its forward.
inline TimePoint end_of_backward(const StepTimes& times) {
  return TimePoint(times.forward_ahead + times.forward + times.backward + times.sync_batchnorm +
                   times.slowed_backward + times.exposed_in_forward + times.exposed_in_backward +
                   times.optimizer_in_backward);
}

/// PeriodicModelAverager's work, once in so many steps.
struct ModelAveraging {
  int period = 1;
  Bytes bytes;     ///< all-reduced
  Duration whole;  ///< from the end of the optimizer until parameters are averaged
  double share =
      1;  ///< of the steps do so: one in `period`, less those in which a higher level does
  std::string
      what;  ///< under a scheme of its own: who does what, "8 ranks average"; empty of a communication hook's
  std::vector<ModelAveraging> further{};  ///< other levels', other periods

  /// What the mean step takes of it.
  Duration of_a_step() const {
    Duration sum = whole.scaled(share);
    for (const ModelAveraging& other : further) sum += other.of_a_step();
    return sum;
  }
};

/// Of asynchronous parameter servers: updates by others between what a worker pulled and its own update.
struct Staleness {
  int workers = 1;
  std::int64_t updates = 0;  ///< simulated, over several seeds
  double mean = 0;
  std::int64_t p50 = 0;  ///< as quantile.hpp defines them
  std::int64_t p95 = 0;
  std::int64_t max = 0;
  double updates_per_second = 0;  ///< of all workers together
};

struct StepResult {
  int iteration = 0;  ///< from 1; 0 for the steady step
  StepTimes times;
  std::vector<BucketResult> buckets;          ///< launch order
  std::vector<CollectiveResult> collectives;  ///< under a scheme that was asked for
  std::optional<ModelAveraging> averaging;    ///< of local SGD
  std::optional<Staleness> staleness;         ///< of asynchronous parameter servers
  std::optional<DataSupply>
      data;                    ///< of a loader that was asked for, or that a recording waited for
  std::optional<Epoch> epoch;  ///< of a data set that was given
  std::optional<JoinedEpoch> joined;  ///< of uneven inputs
  /// The first stretch of rank 0's optimizer, on the clock of the buckets; both alike where it takes no time.
  TimePoint optimizer_start;
  TimePoint optimizer_end;
  std::uint64_t events = 0;  ///< processed by the event queue
};

/// Who waited for whom at collectives, buffer broadcasts included, summed over the steps simulated.
struct RankWait {
  int rank = 0;
  Duration wait;                ///< spent waiting for the last rank
  std::int64_t times_last = 0;  ///< collectives at which the others waited for this rank
  /// What the other ranks together waited for it; ranks that arrive last alike share it evenly.
  Duration caused;
};

/// Iterations of rank 0 once buckets are rebuilt: percentiles of their times, as quantile.hpp defines them.
struct IterationStatistics {
  int first = 0;  ///< number of the first iteration counted
  std::int64_t count = 0;
  StepTimes mean;               ///< part by part, to the picosecond below
  Duration p50;                 ///< the lower median
  std::optional<Duration> p95;  ///< absent below 20 iterations
  std::optional<Duration> p99;  ///< absent below 100
};

struct SimulationResult {
  StepResult step;                                ///< the steady step, or the last of `iterations`
  std::vector<StepResult> iterations;             ///< empty unless asked for
  std::optional<IterationStatistics> statistics;  ///< absent without steady `iterations`
  std::vector<RankWait> ranks;                    ///< by rank; empty where ranks are alike
  Timeline timeline;                              ///< of `step`; empty unless drawn

  /// What a step takes: on average over steady `iterations` where there are, else `step`.
  const StepTimes& times() const { return statistics ? statistics->mean : step.times; }
};

}  // namespace ddpsim
