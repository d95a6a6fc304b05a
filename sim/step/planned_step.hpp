// A training step before anything in it has a time: its schedule, and which parts of it belong to
// what. The scheduler of a scheme writes it; the reducer is one of them (reducer.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/engine/schedule.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "rank_classes.hpp"
#include "recording.hpp"
#include "step_collectives.hpp"

namespace ddpsim {

/// For which ranks each gradient's operations are written one by one. For the others, compute is
/// written as intervals that are as long as possible, which ends the step at the same time.
enum class Detail { every_gradient, those_of_rank_0, none };

/// Work on the compute stream that the host of the next step may wait for (FSDP1's limiter).
struct Freed {
  /// Operation on that stream. Absent if it lies in an earlier step.
  std::optional<std::size_t> operation;
  /// For an operation of an earlier step, its time relative to the start of this step's forward. It
  /// is negative.
  Duration at;
};

/// How a step of a training run differs from the steady one.
struct StepKind {
  bool rebuild = false;  ///< rebuild_buckets runs at the start of this forward
  /// static_graph's first iteration: every launch comes after backward.
  bool delay_launch = false;
  /// How long a rank's host begins before its compute stream. Absent: long enough that no kernel
  /// waits for its launch.
  std::optional<Duration> host_lead;
  Detail detail = Detail::every_gradient;
  /// With host_lead: for each piece of work that the steps before left to wait for, its end
  /// relative to the start of this forward.
  std::optional<std::vector<Duration>> freed_before;
  /// Under optimizer_in_backward, for each bucket: the gradient before which the optimizer of the
  /// bucket runs, as a position in the order of writing. A position after the last gradient means
  /// after backward. Empty: the optimizer of every bucket runs after backward.
  std::vector<std::size_t> steps_before;
};

/// Host time of a step.
struct HostTime {
  /// Host time of the whole step, including DDP's hooks, copies and collectives.
  Duration step;
  Duration model;  ///< only the model's kernels
};

struct WrittenGradient {
  std::size_t parameter;
  /// Operation on the compute stream that writes it.
  std::size_t operation;
};

/// The all-reduces of one bucket.
struct BucketCollectives {
  /// Indices into the schedule's collectives, which run one after the other. Empty if nothing is
  /// sent.
  std::vector<std::uint32_t> collectives;
  std::vector<Bytes> sizes;  ///< including those that carry nothing
};

/// The events of a rank that one of its collectives waits for.
struct AwaitedEvents {
  EventId launched = 0;
  /// The data to send is there, and so is the memory for the data to receive.
  std::vector<EventId> ready;
};

/// One rank class: its programs, and values that PlannedStep takes over.
struct RankStep {
  RankPrograms programs;
  /// Start of its forward pass, or of its host thread if that starts earlier, on the schedule's
  /// clock.
  Duration start;
  HostTime host;
  Duration recorded_broadcast;
  Duration recorded_copies;
  Duration recorded_waits;
  Duration accumulated;
  Duration copies_in_intervals;
  Duration optimizer_left_out;
  bool optimizer_on_host = false;
  std::vector<std::size_t> ready_operation;
  std::vector<std::size_t> launch_operation;
  std::vector<WrittenGradient> gradients;
  std::vector<AwaitedEvents> awaited;  ///< for each collective
  std::vector<Freed> freed;            ///< not waited for in this step
};

/// What all ranks run, and what its collectives and operations belong to.
struct PlannedStep {
  Schedule schedule;
  /// For each rank, the entry of Schedule::ranks that it runs. Empty if all ranks behave alike.
  std::vector<std::size_t> program_of_rank;
  std::vector<StepCollective> collectives;  ///< in the order of Schedule::collectives
  std::vector<AwaitedEvents> awaited;       ///< for each collective, on rank 0
  std::vector<Freed> freed;                 ///< by rank 0, left to the next step
  /// Buckets of the reducer. Empty under another scheme.
  std::vector<BucketCollectives> buckets;
  std::optional<std::uint32_t> local_used_map;
  /// After backward, compute waits for everything in flight, as DDP hands gradients back. If false,
  /// it always waits for one collective.
  bool waits_behind_backward = false;
  bool hook_waits = false;  ///< backward stops while a bucket is reduced
  /// The host reads results of the GPU in the middle of the step.
  bool host_reads = false;
  /// The model averaging of local SGD. It runs after the optimizer.
  std::optional<ModelAveraging> averaging;
  /// Broadcasts of ZeroRedundancyOptimizer, by which ranks exchange the parameters that they
  /// updated. They run after the optimizer.
  std::vector<std::uint32_t> parameter_broadcasts;
  /// For each bucket, on rank 0: position of the operation on the compute stream that writes its
  /// last gradient, and of its launch on the host stream.
  std::vector<std::size_t> ready_operation;
  std::vector<std::size_t> launch_operation;
  /// Factor on rank 0's compute relative to ranks without a state of their own.
  double slowdown = 1;
  Duration recorded_broadcast;  ///< of buffers, in rank 0's forward
  /// Copies of buffers in rank 0's forward.
  Duration recorded_copies;
  /// Waits of rank 0's GPU for launches, as recorded.
  Duration recorded_waits;
  /// Time in which rank 0 adds to existing gradients, without any slowdown of compute.
  Duration accumulated;
  /// Part of rank 0's optimizer that other ranks do instead, or its host.
  Duration optimizer_left_out;
  bool optimizer_on_host = false;
  /// Part of rank 0's intervals of backward (Detail) that copies into buckets take.
  Duration copies_in_intervals;
  /// For each entry of Schedule::ranks, the gradients in the order of writing. Empty if they are
  /// not operations of their own (Detail).
  std::vector<std::vector<WrittenGradient>> gradients;
  /// Host time of rank 0. Absent if it is not known what there is to launch.
  std::optional<HostTime> host;
};

/// Plans a step from its rank classes. `write(class, recording)` returns the RankStep of one class
/// and has added its collectives to `collectives` by then. The caller fills in the streams of the
/// schedule.
template <typename Write>
PlannedStep planned_step(const Job& job, const std::vector<RankState>& states,
                         StepCollectives& collectives, Write write);
void add_class(const Job& job, const RankClass& rank_class, RankStep written, PlannedStep& step);
void add_collectives(StepCollectives& collectives, PlannedStep& step);

template <typename Write>
PlannedStep planned_step(const Job& job, const std::vector<RankState>& states,
                         StepCollectives& collectives, Write write) {
  PlannedStep step;
  RankClasses ranks = rank_classes(job, states);
  std::map<std::optional<std::size_t>, Recording> recordings;
  for (const RankClass& rank_class : ranks.classes) {
    const auto [known, is_new] = recordings.try_emplace(
        rank_class.recording, job, recorded_by(job.workload(), rank_class.rank));
    if (is_new && ranks.classes.size() > 1) known->second.take_apart();
    add_class(job, rank_class, write(rank_class, std::as_const(known->second)), step);
  }
  step.program_of_rank = std::move(ranks.class_of_rank);
  add_collectives(collectives, step);
  return step;
}

}  // namespace ddpsim
