// What all ranks of a step have in common: where each parameter belongs, and which collectives there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm_hook.hpp"
#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/engine/schedule.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "kernel_costs.hpp"
#include "planned_step.hpp"

namespace ddpsim {

struct StepPlan {
  const Job& job;
  const std::vector<Bucket>& buckets;
  KernelCosts kernels;
  std::vector<std::size_t> layers;  ///< of SyncBatchNorm: their weights, in backward's order

  std::vector<BucketHook> hooks;  ///< by bucket

  std::vector<std::int32_t> bucket_of;  ///< by parameter; -1: outside DDP
  std::vector<std::int32_t> layer_of;   ///< by parameter: into layers; -1: none
  std::vector<bool> used;               ///< by parameter: by any rank
  Bytes gradients;                      ///< of all of them, outside DDP included
  std::vector<Duration> copies;         ///< by parameter: into its bucket or out of it
  /// All copies out, sparse gradients' not; what nobody used keeps its gradient as it was (copy_bucket_to_grad).
  Duration copies_out;

  StepCollectives collectives;
  // Into collectives.
  std::vector<std::uint32_t> rebuild;
  std::vector<std::uint32_t> buffers;  ///< by buffer group; none where recorded
  std::optional<std::uint32_t> local_used_map;
  std::uint32_t statistics = 0;  ///< first of SyncBatchNorm's

  /// Of Join, a micro-batch's each, into collectives.
  struct JoinNotices {
    std::uint32_t not_joined = 0;
    std::optional<std::uint32_t> early_termination;
    std::optional<std::uint32_t> common_rank;
    std::uint32_t backward_reduces = 0;
  };
  std::vector<JoinNotices> join;

  std::optional<ModelAveraging> averaging;  ///< of local SGD

  /// Of ZeroRedundancyOptimizer: of the optimizer, what a rank steps, and into collectives, what it sends then.
  double stepped_share = 1;
  std::vector<std::uint32_t> parameter_broadcasts;
  bool steps_by_bucket = false;  ///< overlap_with_ddp: a broadcast a bucket

  const DdpOptions& ddp() const { return job.options().ddp(); }
  bool broadcasts_buffers() const {
    return ddp().broadcast_buffers && !job.workload().buffers.empty();
  }
  /// A static graph is searched, and its map reduced, in the first iteration alone (dynamic_graph_find_unused).
  bool searches_unused() const { return ddp().find_unused_parameters && !ddp().static_graph; }
  Duration copies_of(std::size_t bucket) const {
    Duration total;
    for (const std::size_t parameter : buckets[bucket].parameters) total += copies[parameter];
    return total;
  }
  /// The layer's all-reduce is the one behind.
  std::uint32_t all_gather_of(std::size_t layer, int micro_batch) const {
    const std::size_t before = static_cast<std::size_t>(micro_batch) * layers.size() + layer;
    return statistics + static_cast<std::uint32_t>(2 * before);
  }
};

/// Job and buckets must outlive it.
StepPlan plan_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind);

}  // namespace ddpsim
