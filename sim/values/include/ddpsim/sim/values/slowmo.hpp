// fairscale.experimental.nn.data_parallel.SlowMoDistributedDataParallel.
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// fairscale's SlowMoDistributedDataParallel over local SGD. The ranks of a node all-reduce
/// gradients after backward, nodes average parameters every localsgd_frequency steps, and slow
/// momentum is applied every slowmo_frequency steps.
struct SlowMo {
  int localsgd_frequency = 3;
  int slowmo_frequency = 48;
  /// Momentum is sharded: reduced to the owners of the shards, then broadcast.
  bool slowmo_memory_efficient = true;
  /// Shards of the momentum, at most as many as there are ranks.
  int slowmo_num_shards = 32;

  std::string_view name() const { return "slowmo"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;

  bool operator==(const SlowMo&) const = default;
};

}  // namespace ddpsim
