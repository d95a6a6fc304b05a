// Different numbers of inputs per rank in one epoch, under DistributedDataParallel.join() or
// Join([model]) (torch/distributed/algorithms/join.py, torch/nn/parallel/distributed.py; 2.13).
#pragma once

#include <cstdint>

namespace ddpsim {

struct UnevenInputs {
  std::int64_t least = 1;  ///< batches of the rank with the fewest
  std::int64_t most = 1;   ///< batches of the rank with the most
  std::int64_t total = 1;  ///< batches of all ranks together
  /// False: gradients are divided by the number of ranks that still have inputs, which the host
  /// reads in each backward.
  bool divide_by_initial_world_size = true;
  /// All ranks raise as soon as one has no more inputs.
  bool throw_on_early_termination = false;
  bool operator==(const UnevenInputs&) const = default;
};

}  // namespace ddpsim
