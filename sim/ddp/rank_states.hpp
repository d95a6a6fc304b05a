// Ranks that differ, from one iteration of a training run to the next: how fast each computes, when
// each begins, how long each waited for the others.
#pragma once

#include <optional>
#include <vector>

#include "ddpsim/sim/result.hpp"
#include "reducer.hpp"

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
  bool advance(const ReducerSchedule& planned, const Execution& execution);

 private:
  const Workload& workload_;
  const SimulationOptions& options_;
  std::vector<RankState> states_;
};

/// Sums up who waited for whom.
class WaitBook {
 public:
  void add(const ReducerSchedule& planned, const Execution& execution);
  std::vector<RankWait> finish() && { return std::move(waits_); }

 private:
  std::vector<RankWait> waits_;  ///< by rank; empty as long as all are alike
};

/// Over the iterations from number `first` on; absent when there are none.
std::optional<IterationStatistics> statistics_of(const std::vector<StepResult>& iterations,
                                                 int first);

}  // namespace ddpsim
