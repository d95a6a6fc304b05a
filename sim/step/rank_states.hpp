// State of ranks that differ, from one iteration of a training run to the next: how fast each
// computes, and when each begins.
#pragma once

#include <vector>

#include "planned_step.hpp"

namespace ddpsim {

/// Every rank continues from the end of its own step. Only collectives keep ranks together.
class RankStates {
 public:
  /// Precondition: `job` outlives it.
  explicit RankStates(const Job& job);

  /// One entry per rank. Empty if all ranks behave alike or replay one recorded step.
  const std::vector<RankState>& of_iteration(int iteration);
  /// States in the steady step, without jitter. One entry per rank; empty if all ranks behave alike
  /// or replay one recorded step.
  const std::vector<RankState>& steady();

  /// Notes when each rank's next step begins. Returns whether any start has changed.
  bool advance(const PlannedStep& planned, const Execution& execution);

 private:
  const Job& job_;
  const Workload& workload_;
  const SimulationOptions& options_;
  std::vector<RankState> states_;
};

}  // namespace ddpsim
