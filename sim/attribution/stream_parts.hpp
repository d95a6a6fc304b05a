// Assigns each operation of rank 0's compute stream to a part of the step, in the order of time.
#pragma once

#include <vector>

#include "collective_intervals.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "intervals.hpp"
#include "planned_step.hpp"

namespace ddpsim {

class StreamParts {
 public:
  /// `intervals`: what other streams do at the same time (collective_intervals).
  /// `counted`: counted_collectives.
  StreamParts(const PlannedStep& planned, const Execution& execution,
              const std::vector<std::uint32_t>& counted,
              const std::vector<CollectiveInterval>& intervals);

  void add(const Operation& operation, const OperationTime& time);

  /// Time on the stream, by part. It does not include sums of parts or the time between steps.
  StepTimes times() const;
  /// Undisturbed compute time of forward, backward and optimizer.
  StepTimes work() const;
  /// Time of these transfers that is not hidden: the step waits, or backward is over and no step of
  /// the optimizer runs.
  Duration exposed_of(const std::vector<Interval>& transfers) const;

 private:
  void stand_for(const Operation& operation, const OperationTime& time);
  void beside_collectives(const OperationTime& time, Duration& part);
  void compute(const Operation& operation, const OperationTime& time);
  Duration& part();
  Duration& exposed_in(StepPhase phase);

  const PlannedStep& planned_;
  const TimePoint backward_end_;
  const std::vector<Interval> resident_;     ///< kernels of counted collectives
  const std::vector<Interval> host_copies_;  ///< while no collective transfers
  StepTimes times_;
  StepTimes work_;
  StepPhase phase_ = StepPhase::forward;
  /// Time after backward in which compute waits for all collectives in flight.
  Duration exposed_behind_;
  /// Then the optimizer begins, or the wait for shared parameters.
  TimePoint waited_until_;
  bool shares_ = false;              ///< parameters, after the optimizer
  std::vector<Interval> stands_;     ///< for one collective
  std::vector<Interval> optimizer_;  ///< its steps
};

/// Collectives that the step counts as communication, on rank 0. Those of buffers and statistics do
/// not count, because their waits are parts of their own.
std::vector<std::uint32_t> counted_collectives(const PlannedStep& planned);

}  // namespace ddpsim
