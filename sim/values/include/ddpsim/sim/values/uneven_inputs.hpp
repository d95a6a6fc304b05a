// Ranks that have different numbers of inputs in an epoch, under DistributedDataParallel.join() or Join([model])
// (torch/distributed/algorithms/join.py, torch/nn/parallel/distributed.py; 2.13).
#pragma once

#include <cstdint>

namespace ddpsim {

struct UnevenInputs {
  std::int64_t least = 1;  ///< batches of the rank that has fewest
  std::int64_t most = 1;   ///< of the one that has most
  std::int64_t total = 1;  ///< of all ranks
  /// False: gradients are divided by the ranks that still have inputs, a number the host reads in each backward.
  bool divide_by_initial_world_size = true;
  bool throw_on_early_termination = false;  ///< all ranks raise as soon as one has no more
  bool operator==(const UnevenInputs&) const = default;
};

}  // namespace ddpsim
