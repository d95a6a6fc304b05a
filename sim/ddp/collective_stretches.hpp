// What the collectives of a step do on rank 0, instant by instant.
#pragma once

#include <vector>

#include "ddpsim/sim/loss.hpp"
#include "planned_step.hpp"

namespace ddpsim {

/// A transfer (exposed_all_reduce and its like, used_map), or waiting for the last rank, by what made it last.
struct CollectiveStretch {
  TimePoint start;
  TimePoint end;
  LossCause cause;
  bool waits() const {
    return cause == LossCause::straggler || cause == LossCause::jitter ||
           cause == LossCause::slowest_gpu;
  }
};

/// Disjoint, by start. Of several at an instant a transfer counts before a wait: the wait costs nothing there.
std::vector<CollectiveStretch> collective_stretches(const PlannedStep& planned,
                                                    const Execution& execution, const Job& job);

}  // namespace ddpsim
