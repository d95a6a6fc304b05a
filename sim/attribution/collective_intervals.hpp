// Intervals in which collectives, or copies between GPU and host, are active on rank 0.
#pragma once

#include <vector>

#include "ddpsim/sim/step/loss.hpp"
#include "planned_step.hpp"

namespace ddpsim {

/// An interval in which a collective or a copy is active on rank 0. It is a transfer (such as
/// exposed_all_reduce or used_map), a wait for the last rank, or a copy to or from the host on a
/// side stream (offload). A wait carries the reason why that rank was last.
struct CollectiveInterval {
  TimePoint start;
  TimePoint end;
  LossCause cause;
  bool transfers() const {
    return cause != LossCause::straggler && cause != LossCause::jitter &&
           cause != LossCause::slowest_gpu && cause != LossCause::offload;
  }
};

/// Returns disjoint intervals, ordered by start. If several things happen at once, a transfer hides
/// a wait, and a wait hides a copy.
std::vector<CollectiveInterval> collective_intervals(const PlannedStep& planned,
                                                     const Execution& execution, const Job& job);

}  // namespace ddpsim
