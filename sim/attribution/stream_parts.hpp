// Which part of the step each operation of rank 0's compute stream belongs to, in the order of time.
#pragma once

#include <vector>

#include "collective_intervals.hpp"
#include "ddpsim/sim/step/result.hpp"
#include "intervals.hpp"
#include "planned_step.hpp"

namespace ddpsim {

class StreamParts {
 public:
  /// `intervals`: what other streams do meanwhile (collective_intervals).
  /// `counted`: counted_collectives.
  StreamParts(const PlannedStep& planned, const Execution& execution,
              const std::vector<std::uint32_t>& counted,
              const std::vector<CollectiveInterval>& intervals);

  void add(const Operation& operation, const OperationTime& time);

  /// All that passed on the stream; sums of parts, and what lies between steps, are not in it.
  StepTimes times() const;
  /// Computing of forward, backward and optimizer, with nothing in its way.
  StepTimes work() const;
  /// Of these transfers what is not hidden: the step waits, or is behind backward and no step of the optimizer runs.
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
  Duration exposed_behind_;  ///< behind backward, where compute waits for whatever is in flight
  TimePoint waited_until_;   ///< then the optimizer, or waiting for what is shared out, begins
  bool shares_ = false;      ///< parameters, behind the optimizer
  std::vector<Interval> stands_;     ///< for one collective
  std::vector<Interval> optimizer_;  ///< its steps
};

/// Collectives that the step counts as communication, on rank 0: not those of buffers and statistics, whose waits are parts of
/// their own.
std::vector<std::uint32_t> counted_collectives(const PlannedStep& planned);

}  // namespace ddpsim
