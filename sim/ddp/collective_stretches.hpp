// What the collectives of a step do on rank 0, instant by instant.
#pragma once

#include <vector>

#include "ddpsim/sim/loss.hpp"
#include "reducer.hpp"

namespace ddpsim {

/// A transfer (exposed_all_reduce, used_map), or waiting for the last rank, by what made it last.
struct CollectiveStretch {
  TimePoint start;
  TimePoint end;
  LossCause cause;
  bool waits() const {
    return cause != LossCause::exposed_all_reduce && cause != LossCause::used_map;
  }
};

/// Disjoint, by start. Of several at an instant a transfer counts before a wait: the wait costs nothing there.
std::vector<CollectiveStretch> collective_stretches(const ReducerSchedule& planned,
                                                    const Execution& execution, const Job& job);

}  // namespace ddpsim
