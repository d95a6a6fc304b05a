// Ranks that differ, from one iteration of a training run to the next: how fast each computes, when
// each begins.
#pragma once

#include <vector>

#include "planned_step.hpp"

namespace ddpsim {

/// Every rank carries on from the end of its own step; nothing but collectives holds ranks together.
class RankStates {
 public:
  /// `job` must outlive it.
  explicit RankStates(const Job& job);

  /// One entry per rank; empty where all are alike or replay one recorded step.
  const std::vector<RankState>& of_iteration(int iteration);
  /// The same without jitter.
  const std::vector<RankState>& steady();

  /// Takes over when each rank's next step begins; whether any start has changed.
  bool advance(const PlannedStep& planned, const Execution& execution);

 private:
  const Job& job_;
  const Workload& workload_;
  const SimulationOptions& options_;
  std::vector<RankState> states_;
};

}  // namespace ddpsim
