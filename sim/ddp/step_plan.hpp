// What all ranks of a step share: the bucket and layer of each parameter, and the collectives.
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
  /// Weights of the SyncBatchNorm layers, in backward's order.
  std::vector<std::size_t> layers;

  std::vector<BucketHook> hooks;  ///< by bucket

  std::vector<std::int32_t> bucket_of;  ///< by parameter; -1: outside DDP
  std::vector<std::int32_t> layer_of;   ///< by parameter: into layers; -1: none
  std::vector<bool> used;               ///< by parameter: by any rank
  Bytes gradients;                      ///< all, outside DDP included
  /// By parameter: time to copy its gradient into its bucket, or out of it.
  std::vector<Duration> copies;
  /// Time of all copies out, except sparse gradients. An unused parameter keeps the gradient it had
  /// (copy_bucket_to_grad).
  Duration copies_out;

  StepCollectives collectives;
  // The following are indices into `collectives`.
  std::vector<std::uint32_t> rebuild;
  std::vector<std::uint32_t> buffers;  ///< by buffer group; empty if recorded
  std::optional<std::uint32_t> local_used_map;
  std::uint32_t statistics = 0;  ///< SyncBatchNorm's first

  /// Join's collectives in one micro-batch.
  struct JoinNotices {
    std::uint32_t not_joined = 0;
    std::optional<std::uint32_t> early_termination;
    std::optional<std::uint32_t> common_rank;
    std::uint32_t backward_reduces = 0;
  };
  std::vector<JoinNotices> join;

  std::optional<ModelAveraging> averaging;  ///< for local SGD

  /// Under ZeroRedundancyOptimizer, the share of the optimizer that one rank runs.
  double stepped_share = 1;
  /// Under ZeroRedundancyOptimizer, the collectives that send parameters after the optimizer.
  std::vector<std::uint32_t> parameter_broadcasts;
  bool steps_by_bucket = false;  ///< overlap_with_ddp: a broadcast a bucket

  const DdpOptions& ddp() const { return job.options().ddp(); }
  bool broadcasts_buffers() const {
    return ddp().broadcast_buffers && !job.workload().buffers.empty();
  }
  /// With a static graph, only the first iteration searches it and reduces its map
  /// (dynamic_graph_find_unused).
  bool searches_unused() const { return ddp().find_unused_parameters && !ddp().static_graph; }
  Duration copies_of(std::size_t bucket) const {
    Duration total;
    for (const std::size_t parameter : buckets[bucket].parameters) total += copies[parameter];
    return total;
  }
  /// Index of a layer's all-gather. Its all-reduce is the next one.
  std::uint32_t all_gather_of(std::size_t layer, int micro_batch) const {
    const std::size_t before = static_cast<std::size_t>(micro_batch) * layers.size() + layer;
    return statistics + static_cast<std::uint32_t>(2 * before);
  }
};

/// `job` and `buckets` must outlive the result.
StepPlan plan_step(const Job& job, const std::vector<Bucket>& buckets, const StepKind& kind);

}  // namespace ddpsim
