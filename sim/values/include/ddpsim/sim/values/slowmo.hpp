// fairscale.experimental.nn.data_parallel.SlowMoDistributedDataParallel.
#pragma once

#include <string_view>
#include <vector>

#include "ddpsim/sim/values/scheme_facts.hpp"
#include "ddpsim/sim/values/scheme_option.hpp"

namespace ddpsim {

/// fairscale's SlowMoDistributedDataParallel over local SGD: a node's ranks all-reduce gradients after backward, nodes
/// average parameters every localsgd_frequency steps, slow momentum every slowmo_frequency.
struct SlowMo {
  int localsgd_frequency = 3;
  int slowmo_frequency = 48;
  bool slowmo_memory_efficient =
      true;                    ///< momentum in shards: reduced to their owners and broadcast
  int slowmo_num_shards = 32;  ///< of it; at most as many as there are ranks

  std::string_view name() const { return "slowmo"; }
  SchemeFacts facts() const;
  std::vector<SchemeOption> options();
  std::vector<int> groups(int gpus_per_node) const;

  bool operator==(const SlowMo&) const = default;
};

}  // namespace ddpsim
