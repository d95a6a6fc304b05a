#include "stream_parts.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "summary.hpp"

namespace ddpsim {
namespace {

bool waits_for_a_collective(const Operation& operation) {
  switch (operation.purpose) {
    case OperationKind::all_gather:
    case OperationKind::reduce_scatter:
    case OperationKind::all_reduce:
    case OperationKind::local_used_map:
    case OperationKind::broadcast:
      return operation.action == Action::wait;
    default:
      return false;
  }
}

bool waits_for_a_copy(const Operation& operation) {
  return operation.action == Action::wait && (operation.purpose == OperationKind::pack ||
                                              operation.purpose == OperationKind::host_copy);
}

/// The phase that begins with an operation of that purpose.
std::optional<StepPhase> phase_of(OperationKind purpose) {
  switch (purpose) {
    case OperationKind::forward:
    case OperationKind::buffer_copy:
    case OperationKind::buffer_broadcast:
    case OperationKind::rebuild:
    case OperationKind::join:
      return StepPhase::forward;
    case OperationKind::backward:
    case OperationKind::copy_in:
    case OperationKind::comm_hook:
      return StepPhase::backward;
    case OperationKind::optimizer:
    case OperationKind::host_step:
      return StepPhase::optimizer;
    default:
      return std::nullopt;
  }
}

/// Intervals with copies from the host but no collective that transfers.
std::vector<Interval> host_copies(const std::vector<CollectiveInterval>& intervals) {
  std::vector<Interval> copies;
  for (const CollectiveInterval& interval : intervals)
    if (interval.cause == LossCause::offload) copies.push_back({interval.start, interval.end});
  return copies;
}

/// Intervals in which a counted collective's kernel is on rank 0, waiting or transferring.
std::vector<Interval> resident(const Execution& execution,
                               const std::vector<std::uint32_t>& counted) {
  std::vector<Interval> kernels;
  for (const std::uint32_t index : counted) {
    const CollectiveTime& collective = execution.collectives[index];
    kernels.push_back({collective.starts.front(), collective.end});
  }
  return union_of(std::move(kernels));
}

}  // namespace

StreamParts::StreamParts(const PlannedStep& planned, const Execution& execution,
                         const std::vector<std::uint32_t>& counted,
                         const std::vector<CollectiveInterval>& intervals)
    : planned_(planned),
      backward_end_(
          end_of_backward(planned.schedule.ranks.front().compute, execution.ranks.front().compute)),
      resident_(resident(execution, counted)),
      host_copies_(host_copies(intervals)) {}

void StreamParts::add(const Operation& operation, const OperationTime& time) {
  // Copies of a reducer belong to backward. Copies of a scheme belong to the phase they are in.
  const bool copies =
      operation.purpose == OperationKind::copy_in && !planned_.waits_behind_backward;
  if (operation.action != Action::record && !copies)
    phase_ = phase_of(operation.purpose).value_or(phase_);
  const Duration passed = time.end - time.start;
  if (waits_for_a_collective(operation)) {
    stand_for(operation, time);
  } else if (waits_for_a_copy(operation)) {
    times_.finalize += passed;
  } else if (planned_.waits_behind_backward && operation.purpose == OperationKind::broadcast) {
    // One thread computes and launches: this shares parameters out after the optimizer.
    times_.exposed_in_optimizer += passed;
    shares_ = true;
  } else if (operation.purpose == OperationKind::sync_batch_norm) {
    times_.sync_batchnorm += passed;
  } else if (operation.purpose == OperationKind::model_averaging) {
    times_.model_averaging += passed;
  } else if (operation.purpose == OperationKind::copy_out) {
    beside_collectives(time, times_.finalize);
  } else {
    part() += passed;
    compute(operation, time);
  }
  if (operation.purpose != OperationKind::optimizer && !shares_ &&
      operation.purpose != OperationKind::model_averaging)
    waited_until_ = time.end;
}

/// A wait for one collective or, when a reducer hands gradients back after backward, for all in
/// flight.
void StreamParts::stand_for(const Operation& operation, const OperationTime& time) {
  const bool behind = planned_.waits_behind_backward && time.start >= backward_end_;
  if (behind && hands_gradients_back(operation.purpose))
    return beside_collectives(time, times_.stall);
  phase_ = planned_.collectives[operation.collective].phase;
  // Before the collective, compute may wait for a copy from the host.
  const Duration copied = length_within(host_copies_, time.start, time.end);
  times_.finalize += copied;
  exposed_in(phase_) += time.end - time.start - copied;
  shares_ = shares_ || phase_ == StepPhase::optimizer;
  if (!behind) stands_.push_back({time.start, time.end});
}

/// Adds to `part` the time that no collective covers.
void StreamParts::beside_collectives(const OperationTime& time, Duration& part) {
  const Duration covered = length_within(resident_, time.start, time.end);
  part += time.end - time.start - covered;
  exposed_behind_ += covered;
}

void StreamParts::compute(const Operation& operation, const OperationTime& time) {
  const Duration passed = time.end - time.start;
  const OperationKind purpose = operation.purpose;
  if (waits_for_launch(operation)) times_.launch_bound += passed;
  if (purpose == OperationKind::buffer_copy || purpose == OperationKind::buffer_broadcast)
    times_.buffer_broadcast += passed;
  if (purpose == OperationKind::optimizer) {
    optimizer_.push_back({time.start, time.end});
    if (time.start < backward_end_) times_.optimizer_in_backward += passed;
  }
  if (operation.action != Action::work) return;
  if (purpose == OperationKind::forward) work_.forward += operation.duration;
  if (purpose == OperationKind::backward) work_.backward += operation.duration;
  if (purpose == OperationKind::optimizer) work_.optimizer += operation.duration;
  if (phase_ != StepPhase::backward) return;
  if (purpose != OperationKind::backward) times_.copies_in += operation.duration;
  times_.interference += passed - operation.duration;
}

Duration& StreamParts::part() {
  if (phase_ == StepPhase::forward) return times_.forward;
  return phase_ == StepPhase::backward ? times_.backward : times_.optimizer;
}

Duration& StreamParts::exposed_in(StepPhase phase) {
  if (phase == StepPhase::forward) return times_.exposed_in_forward;
  return phase == StepPhase::backward ? times_.exposed_in_backward : times_.exposed_in_optimizer;
}

StepTimes StreamParts::times() const {
  StepTimes times = times_;
  times.exposed_communication = exposed_behind_ + times.exposed_in_forward +
                                times.exposed_in_backward + times.exposed_in_optimizer;
  times.copies_in += planned_.copies_in_intervals;
  times.backward_compute = times.backward - times.copies_in - times.interference;
  return times;
}

StepTimes StreamParts::work() const {
  StepTimes work = work_;
  work.backward -= planned_.copies_in_intervals;
  return work;
}

Duration StreamParts::exposed_of(const std::vector<Interval>& transfers) const {
  Duration exposed;
  for (const Interval& stands : stands_)
    exposed += length_within(transfers, stands.start, stands.end);
  if (!planned_.waits_behind_backward) return exposed;
  exposed += length_within(transfers, backward_end_, TimePoint::max());
  // The last steps of the optimizer hide nothing, because no wait follows them.
  for (const Interval& step : optimizer_)
    if (step.start >= backward_end_ && step.end <= waited_until_)
      exposed -= length_within(transfers, step.start, step.end);
  return exposed;
}

std::vector<std::uint32_t> counted_collectives(const PlannedStep& planned) {
  std::vector<std::uint32_t> counted;
  if (!planned.waits_behind_backward) {
    counted.resize(planned.collectives.size());
    std::iota(counted.begin(), counted.end(), std::uint32_t{0});
    return counted;
  }
  for (const BucketCollectives& bucket : planned.buckets)
    counted.insert(counted.end(), bucket.collectives.begin(), bucket.collectives.end());
  if (planned.local_used_map) counted.push_back(*planned.local_used_map);
  counted.insert(counted.end(), planned.parameter_broadcasts.begin(),
                 planned.parameter_broadcasts.end());
  return counted;
}

TimePoint end_of_backward(const Program& program, const std::vector<OperationTime>& times) {
  TimePoint end;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const OperationKind purpose = program[i].purpose;
    const std::optional<StepPhase> phase = phase_of(purpose);
    const bool is_before = phase == StepPhase::forward || phase == StepPhase::backward;
    if (is_before || purpose == OperationKind::sync_batch_norm) end = std::max(end, times[i].end);
  }
  return end;
}

}  // namespace ddpsim
