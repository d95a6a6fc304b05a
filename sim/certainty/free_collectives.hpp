// The step as if collectives took no time. Every search for bucket cuts starts from it.
#pragma once

#include <cstddef>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

struct FreeCollectives {
  std::vector<std::size_t> order;  ///< ready order of the gradients DDP reduces
  /// By position in `order`: the earliest time at which a bucket that this gradient fills can be
  /// sent. Leaves out delays from host launches that queue up.
  std::vector<TimePoint> starts;
  TimePoint backward_end;
  Duration copies_out;  ///< for all buckets, after backward
  Duration iteration;
};

/// Precondition: all gradients may share a bucket.
FreeCollectives with_free_collectives(const Job& job);

}  // namespace ddpsim
