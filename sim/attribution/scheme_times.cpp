// Every picosecond of rank 0's step under a scheme that is not the reducer's: its compute stream is walked, and what it
// waits for a collective is that collective's, in the phase that collective belongs to.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "between_steps.hpp"
#include "collective_intervals.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "intervals.hpp"
#include "summary.hpp"

namespace ddpsim {
namespace {

bool is_a_collective(OperationKind purpose) {
  return purpose == OperationKind::all_gather || purpose == OperationKind::reduce_scatter ||
         purpose == OperationKind::all_reduce || purpose == OperationKind::broadcast;
}

bool waits_for_a_copy(const Operation& operation) {
  return operation.action == Action::wait && (operation.purpose == OperationKind::pack ||
                                              operation.purpose == OperationKind::host_copy);
}

class Walk {
 public:
  Walk(const PlannedStep& planned, std::vector<Interval> host_copies)
      : planned_(planned), host_copies_(std::move(host_copies)) {}

  void add(const Operation& operation, const OperationTime& time) {
    const Duration passed = time.end - cursor_;
    const bool works = operation.action == Action::work;
    if (operation.action == Action::wait && is_a_collective(operation.purpose)) {
      phase_ = planned_.collectives[operation.collective].phase;
      // In front of a collective it may be a copy from the host that compute waits for.
      const Duration copied = length_within(host_copies_, cursor_, time.end);
      times_.finalize += copied;
      exposed_[static_cast<std::size_t>(phase_)] += passed - copied;
      stands_.push_back({cursor_, time.end});
    } else if (waits_for_a_copy(operation)) {
      times_.finalize += passed;
    } else if (operation.purpose == OperationKind::model_averaging) {
      times_.model_averaging += passed;
    } else {
      if (operation.action != Action::record) enter(operation.purpose);
      part() += passed;
      if (waits_for_launch(operation)) times_.launch_bound += passed;
      if (works) note_work(operation, time);
    }
    cursor_ = time.end;
  }

  StepTimes times() const {
    StepTimes times = times_;
    times.exposed_in_forward = exposed_[static_cast<std::size_t>(StepPhase::forward)];
    times.exposed_in_backward = exposed_[static_cast<std::size_t>(StepPhase::backward)];
    times.exposed_in_optimizer = exposed_[static_cast<std::size_t>(StepPhase::optimizer)];
    times.exposed_communication =
        times.exposed_in_forward + times.exposed_in_backward + times.exposed_in_optimizer;
    times.backward_compute = times.backward - times.copies_in - times.interference;
    return times;
  }
  const StepTimes& work() const { return work_; }
  const std::vector<Interval>& stands() const { return stands_; }

 private:
  void enter(OperationKind purpose) {
    if (purpose == OperationKind::forward) phase_ = StepPhase::forward;
    if (purpose == OperationKind::backward) phase_ = StepPhase::backward;
    if (purpose == OperationKind::optimizer || purpose == OperationKind::host_step)
      phase_ = StepPhase::optimizer;
  }
  Duration& part() {
    switch (phase_) {
      case StepPhase::forward:
        return times_.forward;
      case StepPhase::backward:
        return times_.backward;
      case StepPhase::optimizer:
        break;
    }
    return times_.optimizer;
  }
  void note_work(const Operation& operation, const OperationTime& time) {
    if (operation.purpose == OperationKind::forward) work_.forward += operation.duration;
    if (operation.purpose == OperationKind::backward) work_.backward += operation.duration;
    if (operation.purpose == OperationKind::optimizer) work_.optimizer += operation.duration;
    if (phase_ != StepPhase::backward) return;
    if (operation.purpose != OperationKind::backward) times_.copies_in += operation.duration;
    times_.interference += time.end - time.start - operation.duration;
  }

  const PlannedStep& planned_;
  const std::vector<Interval> host_copies_;  ///< while no collective transfers
  StepTimes times_;
  StepTimes work_;  ///< forward, backward and optimizer with nothing in their way
  StepPhase phase_ = StepPhase::forward;
  std::array<Duration, 3> exposed_{};  ///< by phase
  std::vector<Interval> stands_;       ///< for collectives
  TimePoint cursor_;
};

std::vector<Interval> host_copies_alone(const PlannedStep& planned, const Execution& execution,
                                        const Job& job) {
  std::vector<Interval> copies;
  if (offload_of(job.options().scheme) == nullptr) return copies;
  for (const CollectiveInterval& stretch : collective_intervals(planned, execution, job))
    if (stretch.cause == LossCause::offload) copies.push_back({stretch.start, stretch.end});
  return copies;
}

}  // namespace

StepTimes attribute_scheme_times(const PlannedStep& planned, const Execution& execution,
                                 const Job& job) {
  const Program& program = planned.schedule.ranks.front().compute;
  const std::vector<OperationTime>& operations = execution.ranks.front().compute;
  Walk walk(planned, host_copies_alone(planned, execution, job));
  for (std::size_t i = 0; i < program.size(); ++i) walk.add(program[i], operations[i]);
  StepTimes times = walk.times();

  std::vector<Interval> transfers;
  std::vector<Interval> waits;
  for (const CollectiveTime& collective : execution.collectives) {
    transfers.push_back({collective.last_arrival, collective.end});
    waits.push_back({collective.starts.front(), collective.last_arrival});
  }
  transfers = union_of(std::move(transfers));
  times.communication = length_within(transfers, TimePoint(), TimePoint::max());
  times.wait = length_within(union_of(std::move(waits)), TimePoint(), TimePoint::max());
  Duration exposed_transfers;
  for (const Interval& stands : walk.stands())
    exposed_transfers += length_within(transfers, stands.start, stands.end);
  if (times.communication > Duration()) times.overlap = 1 - exposed_transfers / times.communication;

  if (planned.host) times.host = planned.host->step;
  times.forward_ahead = std::min(forward_ahead(job, job.workload()), times.forward);
  times.forward -= times.forward_ahead;
  add_pause(job, job.workload(), times);
  times.iteration = times.forward + times.backward + times.exposed_communication + times.finalize +
                    times.optimizer + times.model_averaging + times.stall;
  attribute_slowdown(walk.work(), job, times);
  times.loss = attribute_loss(planned, execution, job, times);
  return times;
}

}  // namespace ddpsim
