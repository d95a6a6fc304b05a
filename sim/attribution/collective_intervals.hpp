// What the collectives of a step do on rank 0, and copies between it and its host, instant by instant.
#pragma once

#include <vector>

#include "ddpsim/sim/step/loss.hpp"
#include "planned_step.hpp"

namespace ddpsim {

/// A transfer (exposed_all_reduce and its like, used_map), or waiting for the last rank, by what made it last, or a copy
/// to the host or from there on a stream beside compute (offload).
struct CollectiveInterval {
  TimePoint start;
  TimePoint end;
  LossCause cause;
  bool transfers() const {
    return cause != LossCause::straggler && cause != LossCause::jitter &&
           cause != LossCause::slowest_gpu && cause != LossCause::offload;
  }
};

/// Disjoint, by start. Of several at an instant a transfer counts before a wait, and a wait before a copy: what comes behind
/// costs nothing there.
std::vector<CollectiveInterval> collective_intervals(const PlannedStep& planned,
                                                     const Execution& execution, const Job& job);

}  // namespace ddpsim
