// The step of a rank as its memory goes up and down in it, by what its scheme keeps.
#pragma once

#include <algorithm>

#include "ddpsim/sim/memory/memory.hpp"
#include "kept_in_memory.hpp"

namespace ddpsim {

/// Moment, parts, rounding, segments and what stays on the host; the rest is alike for all.
PeakMemory peak_of(const Job& job, const ReducerBuckets& kept);
PeakMemory peak_of(const Job& job, const ShardedUnits& kept);
PeakMemory peak_of(const Job& job, const WholeTensors& kept);
PeakMemory peak_of(const Job& job, const MixedPrecision& kept);

/// The highest of what a step holds from moment to moment. PyTorch's allocator lets a block go back to the stream it was
/// asked for on alone: `beside`, of `parts`, is what another stream than compute's holds, and at its highest it holds that
/// when compute's does not.
class Highest {
 public:
  void see(const MemoryParts& parts, PeakMoment at, Bytes beside = {}) {
    const Bytes known = parts.known();
    most_beside_ = std::max(most_beside_, beside);
    most_computing_ = std::max(most_computing_, known - beside);
    if (seen_ && known <= parts_.known()) return;
    seen_ = true;
    parts_ = parts;
    at_ = at;
  }
  PeakMemory take() const { return {.at = at_, .parts = parts_}; }
  /// More than the highest moment, since streams do not lend each other what they let go.
  Bytes apart() const { return most_computing_ + most_beside_ - parts_.known(); }

 private:
  bool seen_ = false;
  MemoryParts parts_;
  PeakMoment at_ = PeakMoment::backward;
  Bytes most_beside_;
  Bytes most_computing_;
};

}  // namespace ddpsim
