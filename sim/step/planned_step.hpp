// A training step before any of it has a time: its schedule, and what of it is whose. A scheme's scheduler writes it, the
// reducer's (reducer.hpp) as any other.
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

/// What is asked of a step beyond its parts. Where nobody looks at a rank's gradients its compute is written in stretches as
/// long as nothing comes between, which ends the step at the same instant.
enum class Detail { every_gradient, those_of_rank_0, none };

/// Something on the compute stream that the host of the next step may wait for (FSDP1's limiter).
struct Freed {
  std::optional<std::size_t> operation;  ///< on that stream; absent: in an earlier step, …
  Duration at;                           ///< … so long after this one's forward began (negative)
};

/// How a step of a training run differs from the steady one.
struct StepKind {
  bool rebuild = false;       ///< rebuild_buckets runs at the start of this forward
  bool delay_launch = false;  ///< static_graph's first iteration: everything after backward
  /// How long before its compute stream a rank's host begins. Absent: so long that no kernel waits for its launch.
  std::optional<Duration> host_lead;
  Detail detail = Detail::every_gradient;
  /// With a host: when what the steps before left to wait for was there, since forward began.
  std::optional<std::vector<Duration>> freed_before;
  /// Under optimizer_in_backward, by bucket: the gradient in front of which its optimizer steps, in the order they are
  /// written; past the last one: after backward. Empty: all of them.
  std::vector<std::size_t> steps_before;
};

/// What a host takes for a step.
struct HostTime {
  Duration step;   ///< hooks, copies and collectives of DDP included
  Duration model;  ///< the model's kernels alone
};

struct WrittenGradient {
  std::size_t parameter;
  std::size_t operation;  ///< on the compute stream, after which it is there
};

/// The all-reduces of one bucket.
struct BucketCollectives {
  std::vector<std::uint32_t>
      collectives;  ///< into the schedule's, one behind the other; none where nothing is sent
  std::vector<Bytes> sizes;  ///< those that carry nothing included
};

/// Which events of a rank a collective of its waits for.
struct AwaitedEvents {
  EventId launched = 0;
  std::vector<EventId> ready;  ///< what it sends is there, and room for it
};

/// One class of ranks: its programs, and what becomes of them in PlannedStep.
struct RankStep {
  RankPrograms programs;
  Duration start;  ///< of its forward on the schedule's clock, or of its host
  HostTime host;
  Duration recorded_broadcast;
  Duration recorded_copies;
  Duration recorded_waits;
  Duration accumulated;
  Duration copies_in_intervals;
  Duration optimizer_left_out;
  std::vector<std::size_t> ready_operation;
  std::vector<std::size_t> launch_operation;
  std::vector<WrittenGradient> gradients;
  std::vector<AwaitedEvents> awaited;  ///< by collective
  std::vector<Freed> freed;            ///< nobody waited for them in this step
};

/// What all ranks run, and where its collectives stand in it.
struct PlannedStep {
  Schedule schedule;
  /// By rank: the entry of Schedule::ranks it runs. Empty where all are alike.
  std::vector<std::size_t> program_of_rank;
  std::vector<StepCollective> collectives;  ///< those of the schedule
  std::vector<AwaitedEvents> awaited;       ///< by collective, of rank 0
  std::vector<Freed> freed;                 ///< by rank 0, and left to the next step
  std::vector<BucketCollectives> buckets;   ///< of the reducer; none under another scheme
  std::optional<std::uint32_t> local_used_map;
  /// Behind backward compute waits for whatever is in flight, as DDP hands gradients back; else always for one collective.
  bool waits_behind_backward = false;
  bool hook_waits = false;                  ///< backward stands still while a bucket is reduced
  bool host_reads = false;                  ///< what the GPU computed, in the midst of the step
  std::optional<ModelAveraging> averaging;  ///< of local SGD, behind the optimizer
  std::vector<std::uint32_t> parameter_broadcasts;  ///< of ZeroRedundancyOptimizer, behind it too
  /// By bucket: position of the operation on the compute stream that writes its last gradient, and
  /// of the launch on the host stream; of rank 0's program.
  std::vector<std::size_t> ready_operation;
  std::vector<std::size_t> launch_operation;
  /// Factor on rank 0's compute, beyond that of ranks that are alike.
  double slowdown = 1;
  Duration recorded_broadcast;  ///< of buffers, in rank 0's forward …
  Duration recorded_copies;     ///< … with its copies
  Duration recorded_waits;      ///< of rank 0's GPU for launches, as recorded
  Duration accumulated;  ///< by rank 0 into gradients that are there, whoever slows its compute
  Duration optimizer_left_out;  ///< of rank 0's: other ranks step those parameters
  /// Of rank 0's work in stretches of backward (Detail), what copies into buckets take.
  Duration copies_in_intervals;
  /// By entry of Schedule::ranks, in the order written; empty where it is written in stretches.
  std::vector<std::vector<WrittenGradient>> gradients;
  /// Of rank 0; absent where it is not known what there is to launch.
  std::optional<HostTime> host;
};

/// The classes of ranks, each as `write(class, recording)` writes it (a RankStep); `collectives` are theirs by then.
/// Streams of the schedule are to be filled in.
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
