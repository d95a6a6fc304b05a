// torch.distributed.fsdp.FullyShardedDataParallel (torch/distributed/fsdp, 2.13).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/cpu_offload.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"
#include "ddpsim/sim/values/wrap_policy.hpp"

namespace ddpsim {

enum class ShardingStrategy {
  /// Shards parameters, gradients and optimizer, and frees parameters after forward.
  full_shard,
  shard_grad_op,  ///< parameters stay from forward to backward
  no_shard,       ///< one all-reduce per FSDP unit
  /// full_shard within groups of ranks, with an all-reduce of shards between the groups.
  hybrid_shard,
  hybrid_shard_zero2,  ///< shard_grad_op within the groups
};
/// Whether ranks shard within groups and all-reduce between them.
inline bool is_hybrid(ShardingStrategy strategy) {
  return strategy == ShardingStrategy::hybrid_shard ||
         strategy == ShardingStrategy::hybrid_shard_zero2;
}
enum class BackwardPrefetch { pre, post, none };
std::string_view name_of(ShardingStrategy strategy);  ///< "full_shard"
std::string_view name_of(BackwardPrefetch prefetch);  ///< "pre"

/// torch.distributed.fsdp.FullyShardedDataParallel: one flat parameter per FSDP unit, one
/// communicator.
struct Fsdp1 {
  ShardingStrategy strategy = ShardingStrategy::full_shard;
  WrapPolicy wrap;
  /// Ranks that shard together in a hybrid strategy. Absent: those of a node.
  std::optional<int> group;
  BackwardPrefetch backward_prefetch = BackwardPrefetch::pre;
  bool forward_prefetch = false;
  bool limit_all_gathers = true;
  bool use_orig_params = false;
  std::optional<Dtype> param_dtype;
  std::optional<Dtype> reduce_dtype;
  /// The user stated "parameters" for either, so that the estimate's precision does not count.
  bool own_types = false;
  bool no_sync = true;  ///< around all micro-batches but the last
  /// Offloads both parameters and optimizer, or neither.
  CpuOffload offload;

  /// Dtype in which gradients are reduced. Absent: that of the parameters.
  std::optional<Dtype> reduced_in() const { return reduce_dtype ? reduce_dtype : param_dtype; }
  std::string_view name() const { return "fsdp1"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;

  bool operator==(const Fsdp1&) const = default;
};

/// The strategy that PyTorch uses. With one rank there is nothing to shard: PyTorch switches to
/// NO_SHARD with a warning (_init_utils.py).
inline ShardingStrategy strategy_in_force(const Fsdp1& scheme, int ranks) {
  return ranks == 1 ? ShardingStrategy::no_shard : scheme.strategy;
}

}  // namespace ddpsim
