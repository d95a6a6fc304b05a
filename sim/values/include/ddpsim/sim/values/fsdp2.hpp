// torch.distributed.fsdp.fully_shard (torch/distributed/fsdp/_fully_shard, 2.13).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/cpu_offload.hpp"
#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"
#include "ddpsim/sim/values/wrap_policy.hpp"

namespace ddpsim {

/// torch.distributed.fsdp.fully_shard: every parameter sharded on its first dimension.
struct Fsdp2 {
  bool reshard_after_forward = true;  ///< of all but the root
  bool reshard_root = false;          ///< True passed to the root's own call
  std::optional<int> reshard_to;      ///< an integer in its place: ranks that then hold one copy
  WrapPolicy wrap;
  std::optional<int> group;  ///< ranks that shard together, of a 2-D mesh; absent: all
  std::optional<Dtype> param_dtype;
  std::optional<Dtype> reduce_dtype;
  /// All-gathers and reduce-scatters over process groups of their own; else one communicator runs them in the order issued,
  /// whatever their streams (NCCL's enqueue.cc: a launch from another stream waits for the last one).
  bool separate_groups = false;
  bool no_sync = true;  ///< set_requires_gradient_sync(False) but in the last micro-batch
  CpuOffload offload;   ///< of both or neither

  /// What gradients are reduced in; absent: as the parameters are.
  std::optional<Dtype> reduced_in() const { return reduce_dtype ? reduce_dtype : param_dtype; }
  std::string_view name() const { return "fsdp2"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;

  bool operator==(const Fsdp2&) const = default;
};

}  // namespace ddpsim
