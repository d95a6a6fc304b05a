// Results of a simulated step. Times are those of rank 0, from the start of its forward on the
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

/// A collective of the step, in the order in which rank 0's host launched them.
struct CollectiveResult {
  CollectiveKind kind = CollectiveKind::all_reduce;
  /// What it belongs to: a module's name, "bucket 0", or a parameter's name.
  std::string unit;
  Bytes bytes;  ///< as nccl-tests counts them (collective.hpp)
  /// The data to send is there, and so is the memory for the data to receive.
  TimePoint ready;
  TimePoint launch;  ///< the host has enqueued it
  TimePoint start;   ///< the kernel runs on this rank
  /// The last rank's kernel runs, and the transfer begins.
  TimePoint last_arrival;
  TimePoint end;
  StepPhase phase = StepPhase::backward;
  std::optional<CollectiveChoice> choice;
};

/// All all-reduces of a bucket as one collective, from the start of the first to the end of the
/// last. With a compression hook, `bytes` is less than the bucket's.
struct BucketResult : CollectiveResult {
  Bucket bucket;
  int last_rank = 0;
  /// Empty if backward's compute hides the bucket.
  std::string exposed_because;
  std::vector<Bytes> all_reduces{};  ///< bytes of each, in order
};

/// Parts of a step. To the picosecond,
///
///   iteration = forward + backward + sync_batchnorm + slowest_gpu + unexplained
///             + exposed_communication + finalize + optimizer + model_averaging + stall
///
/// and none of them is negative. Forward, backward and optimizer are those of a usual GPU.
struct StepTimes {
  Duration iteration;
  Duration forward;           ///< including the buffer broadcast
  Duration buffer_broadcast;  ///< its part of forward
  Duration backward;          ///< including copies into buckets and interference
  Duration backward_compute;  ///< without copies and interference
  /// Copies into buckets in backward, recorded or added.
  Duration copies_in;
  /// Slowdown of backward while NCCL kernels ran.
  Duration interference;
  /// Union of [last arrival, end] over the reducer's collectives.
  Duration communication;
  /// Union of [own start, last arrival] over the same collectives.
  Duration wait;
  /// The part of communication and wait after the end of backward. It includes exposed_in_backward.
  Duration exposed_communication;
  /// Time in which backward stands still because a communication hook waits for its collective.
  Duration exposed_in_backward;
  /// Part of exposed communication before forward reads gathered parameters, under a scheme that
  /// gathers them.
  Duration exposed_in_forward;
  /// Part of exposed communication after the optimizer.
  Duration exposed_in_optimizer;
  /// The part of the optimizer before the end of backward.
  Duration optimizer_in_backward;
  std::optional<double> overlap;  ///< 1 - (exposed transfer / communication)
  /// Time of the copies from buckets back to gradients after exposed communication has ended. Copies
  /// that run during exposed communication are not counted here.
  Duration finalize;
  Duration optimizer;
  /// Waits for SyncBatchNorm's collectives, in forward and backward.
  Duration sync_batchnorm;
  /// One step's share of what local SGD does once per period.
  Duration model_averaging;
  /// Time between steps. It includes `input` and `pause`.
  Duration stall;
  /// The wait for data and the copy of a batch to the GPU.
  Duration input;
  /// The wait for data and the copy of a batch on one GPU working alone, if that is simulated.
  Duration input_alone;
  /// Time between steps in which the recorded host did anything other than wait for data.
  Duration pause;
  /// Wait for the slowest GPU's compute (rank_slowdown.hpp).
  Duration slowest_gpu;
  /// Multi-GPU overhead beyond slowest_gpu, or what --rank-slowdown states.
  Duration unexplained;
  /// The part of `slowest_gpu` and `unexplained` before the end of backward.
  Duration slowed_backward;
  /// The part of forward, backward and optimizer in which the GPU waits for the host to launch.
  Duration launch_bound;
  /// Host time to launch a step, including DDP's hooks and copies. The step is at least this long.
  /// Absent if the workload does not say what there is to launch.
  std::optional<Duration> host;
  /// How long before the end of a step the next one's forward begins, if steps overlap. `forward`
  /// does not include it: the step is the period of a pipeline, and each instant counts once.
  Duration forward_ahead;
  /// The part of the iteration that one GPU alone without DDP does not take.
  Loss loss;

  /// Step of one of its GPUs working alone: compute of forward and backward, optimizer, recorded
  /// stall. It does not wait for simulated batches (see input_alone).
  Duration alone() const { return iteration - loss.total(); }
  /// Exposed communication of gradients, and of parameters that are gathered for backward.
  Duration exposed_backward() const {
    return exposed_communication - exposed_in_forward - exposed_in_optimizer;
  }
  /// Time in which the compute stream waits for communication or another rank.
  Duration blocking_communication() const {
    return exposed_communication + buffer_broadcast + sync_batchnorm + model_averaging;
  }
};

/// End of backward on the slowest GPU, on the clock of a step's buckets. That clock counts from the
/// start of its forward.
inline TimePoint end_of_backward(const StepTimes& times) {
  return TimePoint(times.forward_ahead + times.forward + times.backward + times.sync_batchnorm +
                   times.slowed_backward + times.exposed_in_forward + times.exposed_in_backward +
                   times.optimizer_in_backward);
}

/// Work of PeriodicModelAverager, once every `period` steps.
struct ModelAveraging {
  int period = 1;
  Bytes bytes;  ///< all-reduced
  /// Time from the end of the optimizer until parameters are averaged.
  Duration whole;
  /// Share of steps that average: 1 / period, without the steps in which a higher level does.
  double share = 1;
  /// Description under a scheme of its own, such as "8 ranks average". Empty for a communication
  /// hook.
  std::string what;
  /// Other levels, which have other periods.
  std::vector<ModelAveraging> further{};

  /// Time in the mean step.
  Duration of_a_step() const {
    Duration sum = whole.scaled(share);
    for (const ModelAveraging& other : further) sum += other.of_a_step();
    return sum;
  }
};

/// Staleness with asynchronous parameter servers: how many updates other workers made between a
/// worker's pull and its own update.
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
  std::vector<CollectiveResult> collectives;  ///< only under a scheme that was asked for
  std::optional<ModelAveraging> averaging;    ///< only with local SGD
  std::optional<Staleness> staleness;         ///< only with asynchronous parameter servers
  /// Set with a data loader, or if the recording waited for data.
  std::optional<DataSupply> data;
  std::optional<Epoch> epoch;         ///< only with a data set
  std::optional<JoinedEpoch> joined;  ///< only with uneven inputs
  /// First interval of rank 0's optimizer, on the clock of the buckets. Both ends are equal if it
  /// takes no time.
  TimePoint optimizer_start;
  TimePoint optimizer_end;
  std::uint64_t events = 0;  ///< processed by the event queue
};

/// How one rank waited for others at collectives, and they for it. Summed over the simulated steps,
/// including buffer broadcasts.
struct RankWait {
  int rank = 0;
  Duration wait;  ///< spent waiting for the last rank
  /// Number of collectives at which the others waited for this rank.
  std::int64_t times_last = 0;
  /// Sum of the other ranks' waits for this rank. Ranks that arrive last together share it equally.
  Duration caused;
};

/// Statistics of rank 0's iterations after buckets are rebuilt. Percentiles of their times are as
/// quantile.hpp defines them.
struct IterationStatistics {
  int first = 0;  ///< number of the first iteration counted
  std::int64_t count = 0;
  /// Mean of each part, rounded down to a picosecond.
  StepTimes mean;
  Duration p50;                 ///< the lower median
  std::optional<Duration> p95;  ///< absent below 20 iterations
  std::optional<Duration> p99;  ///< absent below 100
};

struct SimulationResult {
  StepResult step;                                ///< the steady step, or the last iteration
  std::vector<StepResult> iterations;             ///< empty unless asked for
  std::optional<IterationStatistics> statistics;  ///< absent without steady `iterations`
  std::vector<RankWait> ranks;                    ///< by rank; empty if all behave alike
  Timeline timeline;                              ///< of `step`; empty unless drawn

  /// Times of a step: the mean of the steady iterations if there are any, otherwise `step`.
  const StepTimes& times() const { return statistics ? statistics->mean : step.times; }
};

}  // namespace ddpsim
