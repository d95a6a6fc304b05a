// The step as it would be if collectives took no time: what every cut of the gradients starts from.
#pragma once

#include <cstddef>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

struct FreeCollectives {
  std::vector<std::size_t> order;  ///< the gradients DDP reduces, as they are ready
  /// By position in it: when a bucket that this gradient fills could be on the wire, host launches not piling up.
  std::vector<TimePoint> starts;
  TimePoint backward_end;
  Duration copies_out;  ///< of all buckets, behind backward
  Duration iteration;
};

/// Precondition: all gradients may share a bucket.
FreeCollectives with_free_collectives(const Job& job);

}  // namespace ddpsim
