// torch.distributed._composable.replicate_with_fsdp.replicate (2.13), which torchtitan uses in place
// of DistributedDataParallel.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/fsdp2.hpp"

namespace ddpsim {

/// Runs the code of fully_shard, and shards nothing: every module that was wrapped copies its
/// parameters before forward, and all-reduces its gradients together. There are no buckets.
struct Replicate {
  WrapPolicy wrap;
  std::optional<Dtype> param_dtype;
  std::optional<Dtype> reduce_dtype;
  /// The user stated "parameters" for either, so that the estimate's precision does not count.
  bool own_types = false;
  /// set_requires_gradient_sync(False) in every micro-batch but the last.
  bool no_sync = true;
  CpuOffload offload;

  /// What fully_shard does on a mesh whose shards are held by one rank each.
  Fsdp2 as_fully_shard() const;
  std::string_view name() const { return "replicate"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  /// Each rank shards with itself.
  std::vector<int> groups(int /*gpus_per_node*/) const { return {1}; }

  bool operator==(const Replicate&) const = default;
};

}  // namespace ddpsim
