// The DDP reducer as a schedule: one training step of DistributedDataParallel, in PyTorch's order
// of hooks, copies, launches and finalize (torch/csrc/distributed/c10d/reducer.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "ddpsim/sim/job.hpp"
#include "ddpsim/sim/result.hpp"
#include "ddpsim/sim/schedule.hpp"
#include "rank_classes.hpp"

namespace ddpsim {

/// What is asked of a step beyond its parts. Where nobody looks at a rank's gradients its compute is written in stretches as
/// long as nothing comes between, which ends the step at the same instant.
enum class Detail { every_gradient, those_of_rank_0, none };

/// How a step of a training run differs from the steady one.
struct StepKind {
  bool rebuild = false;       ///< rebuild_buckets runs at the start of this forward
  bool delay_launch = false;  ///< static_graph's first iteration: everything after backward
  /// How long before its compute stream a rank's host begins. Absent: so long that no kernel waits for its launch.
  std::optional<Duration> host_lead;
  Detail detail = Detail::every_gradient;
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

/// Where the reducer's collectives stand in the schedule.
struct ReducerSchedule {
  Schedule schedule;
  /// By rank: the entry of Schedule::ranks it runs. Empty where all are alike.
  std::vector<std::size_t> program_of_rank;
  std::vector<BucketCollectives> buckets;
  std::vector<std::optional<CollectiveChoice>> choices;  ///< by collective
  std::optional<std::uint32_t> local_used_map;
  bool hook_waits = false;                  ///< backward stands still while a bucket is reduced
  bool host_reads = false;                  ///< what the GPU computed, in the midst of the step
  std::optional<ModelAveraging> averaging;  ///< of local SGD, behind the optimizer
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
  /// Of rank 0's work in stretches of backward (Detail), what copies into buckets take.
  Duration copies_in_stretches;
  /// By entry of Schedule::ranks, in the order written; empty where it is written in stretches.
  std::vector<std::vector<WrittenGradient>> gradients;
  /// Of rank 0; absent where it is not known what there is to launch.
  std::optional<HostTime> host;
};

/// Ranks that compute alike share one entry of Schedule::ranks. `states` holds one entry per rank of
/// the cluster; empty: every rank computes as recorded, from the start that was recorded with it.
ReducerSchedule schedule_step(const Job& job, const std::vector<Bucket>& buckets,
                              const StepKind& kind, const std::vector<RankState>& states);

}  // namespace ddpsim
