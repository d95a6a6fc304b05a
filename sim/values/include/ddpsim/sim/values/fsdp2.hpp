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

/// torch.distributed.fsdp.fully_shard: every parameter is sharded on its first dimension.
struct Fsdp2 {
  bool reshard_after_forward = true;  ///< for every module but the root
  bool reshard_root = false;          ///< True passed to the root's own call
  /// An integer passed as reshard_after_forward: the number of ranks that then hold one copy.
  std::optional<int> reshard_to;
  WrapPolicy wrap;
  /// Ranks that shard together in a 2-D mesh. Absent: all.
  std::optional<int> group;
  std::optional<Dtype> param_dtype;
  std::optional<Dtype> reduce_dtype;
  /// The user stated "parameters" for either, so that the estimate's precision does not count.
  bool own_types = false;
  /// All-gathers and reduce-scatters use process groups of their own. If false, one communicator
  /// runs them in the order in which they are issued, whatever their streams: in NCCL's enqueue.cc,
  /// a launch from another stream waits for the last one.
  bool separate_groups = false;
  /// set_requires_gradient_sync(False) in every micro-batch but the last.
  bool no_sync = true;
  /// Offloads both parameters and optimizer, or neither.
  CpuOffload offload;

  /// Dtype in which gradients are reduced. Absent: that of the parameters.
  std::optional<Dtype> reduced_in() const { return reduce_dtype ? reduce_dtype : param_dtype; }
  std::string_view name() const { return "fsdp2"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;

  bool operator==(const Fsdp2&) const = default;
};

}  // namespace ddpsim
