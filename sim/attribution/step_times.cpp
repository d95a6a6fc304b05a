// Every picosecond of rank 0's step, attributed to one part of it.
#include <algorithm>
#include <utility>

#include "between_steps.hpp"
#include "ddpsim/sim/step/compute_speed.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "intervals.hpp"
#include "summary.hpp"

namespace ddpsim {
namespace {

enum class Section { forward, backward, sync_batchnorm, after, averaging, sharing };

Section section_of(OperationKind purpose) {
  switch (purpose) {
    case OperationKind::forward:
    case OperationKind::buffer_copy:
    case OperationKind::buffer_broadcast:
    case OperationKind::rebuild:
    case OperationKind::join:
      return Section::forward;
    case OperationKind::backward:
    case OperationKind::copy_in:
    case OperationKind::comm_hook:
      return Section::backward;
    case OperationKind::sync_batch_norm:
      return Section::sync_batchnorm;
    case OperationKind::model_averaging:
      return Section::averaging;
    case OperationKind::broadcast:
      return Section::sharing;
    default:
      return Section::after;
  }
}

std::vector<std::uint32_t> reducer_collectives(const PlannedStep& planned) {
  std::vector<std::uint32_t> indices;
  for (const BucketCollectives& bucket : planned.buckets)
    indices.insert(indices.end(), bucket.collectives.begin(), bucket.collectives.end());
  if (planned.local_used_map) indices.push_back(*planned.local_used_map);
  indices.insert(indices.end(), planned.parameter_broadcasts.begin(),
                 planned.parameter_broadcasts.end());
  return indices;
}

/// What of rank 0's compute stream each part takes, in the order of time.
struct ComputeStream {
  StepTimes times;  ///< forward, backward and their parts, optimizer
  StepTimes work;   ///< computing of forward, backward and optimizer, with nothing in its way
  std::vector<Interval> copies_out;
  std::vector<Interval> exposed;  ///< standing still for a bucket in the midst of backward
  std::vector<Interval> steps;    ///< of the optimizer
  TimePoint optimizer_start;      ///< or where waiting for what is shared out begins
};

ComputeStream walk(const PlannedStep& planned, const std::vector<OperationTime>& operations,
                   TimePoint backward_end) {
  const Program& program = planned.schedule.ranks.front().compute;
  ComputeStream stream;
  StepTimes& times = stream.times;
  TimePoint cursor;
  bool shares = false;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const OperationKind purpose = program[i].purpose;
    const bool works = program[i].action == Action::work;
    const Duration passed = operations[i].end - cursor;  // waiting in front of it included
    const Duration busy = operations[i].end - operations[i].start;
    switch (section_of(purpose)) {
      case Section::forward:
        times.forward += passed;
        if (works && purpose == OperationKind::forward) stream.work.forward += program[i].duration;
        if (purpose == OperationKind::buffer_copy || purpose == OperationKind::buffer_broadcast)
          times.buffer_broadcast += passed;
        break;
      case Section::backward:
        times.backward += passed;
        if (purpose != OperationKind::backward && works) times.copies_in += program[i].duration;
        if (works) times.interference += busy - program[i].duration;
        if (works && purpose == OperationKind::backward)
          stream.work.backward += program[i].duration;
        break;
      case Section::sync_batchnorm:
        times.sync_batchnorm += passed;
        break;
      case Section::averaging:
        times.model_averaging += passed;
        break;
      case Section::sharing:
        times.exposed_in_optimizer += passed;
        shares = true;
        break;
      case Section::after:
        if (purpose == OperationKind::copy_out)
          stream.copies_out.push_back({operations[i].start, operations[i].end});
        if (purpose == OperationKind::all_reduce && cursor < backward_end) {
          times.exposed_in_backward += passed;
          stream.exposed.push_back({cursor, operations[i].end});
        }
        if (purpose == OperationKind::optimizer) {
          times.optimizer += busy;
          stream.steps.push_back({operations[i].start, operations[i].end});
          if (cursor < backward_end) times.optimizer_in_backward += passed;
        }
        if (purpose == OperationKind::optimizer && works)
          stream.work.optimizer += program[i].duration;
    }
    if (waits_for_launch(program[i])) times.launch_bound += busy;
    cursor = operations[i].end;
    if (!shares && purpose != OperationKind::optimizer && section_of(purpose) < Section::averaging)
      stream.optimizer_start = cursor;
  }
  times.copies_in += planned.copies_in_intervals;
  stream.work.backward -= planned.copies_in_intervals;
  times.backward_compute = times.backward - times.copies_in - times.interference;
  return stream;
}

/// The reducer's collectives on rank 0, each a union.
struct Collectives {
  std::vector<Interval> transfers;  ///< last arrival to end
  std::vector<Interval> waits;      ///< own start to last arrival
  std::vector<Interval> resident;   ///< own start to end
};

Collectives collectives_of(const PlannedStep& planned, const Execution& execution) {
  Collectives found;
  for (const std::uint32_t index : reducer_collectives(planned)) {
    const CollectiveTime& collective = execution.collectives[index];
    found.transfers.push_back({collective.last_arrival, collective.end});
    found.waits.push_back({collective.starts.front(), collective.last_arrival});
    found.resident.push_back({collective.starts.front(), collective.end});
  }
  for (std::vector<Interval>* intervals : {&found.transfers, &found.waits, &found.resident})
    *intervals = union_of(std::move(*intervals));
  return found;
}

}  // namespace

void attribute_slowdown(const StepTimes& work, const Job& job, StepTimes& times) {
  const SlowdownShares shares = slowdown_shares(job);
  const double slowest = std::max(shares.slowest_gpu, 0.0);
  const double unexplained = std::max(shares.unexplained, 0.0);
  const double slowdown = shares.slowdown();
  const auto move = [&](Duration worked, Duration& part) {
    const Duration beyond = worked.scaled(1 / slowdown);
    const Duration waiting = std::min(beyond.scaled(slowest), part);
    const Duration rest = std::min(beyond.scaled(unexplained), part - waiting);
    part -= waiting + rest;
    times.slowest_gpu += waiting;
    times.unexplained += rest;
    return waiting + rest;
  };
  times.slowed_backward = move(work.forward, times.forward);
  const Duration of_backward = move(work.backward, times.backward);
  times.backward_compute -= of_backward;
  times.slowed_backward += of_backward;
  move(work.optimizer, times.optimizer);
}

TimePoint end_of_backward(const Program& program, const std::vector<OperationTime>& times) {
  TimePoint end;
  for (std::size_t i = 0; i < program.size(); ++i)
    if (section_of(program[i].purpose) < Section::after) end = std::max(end, times[i].end);
  return end;
}

StepTimes attribute_times(const PlannedStep& planned, const Execution& execution, const Job& job) {
  const Workload& workload = job.workload();
  const Program& program = planned.schedule.ranks.front().compute;
  const std::vector<OperationTime>& operations = execution.ranks.front().compute;
  const TimePoint backward_end = end_of_backward(program, operations);
  const ComputeStream stream = walk(planned, operations, backward_end);
  const Collectives collectives = collectives_of(planned, execution);
  const TimePoint always = TimePoint::max();

  StepTimes times = stream.times;
  times.communication = length_within(collectives.transfers, TimePoint(), always);
  times.wait = length_within(collectives.waits, TimePoint(), always);
  times.exposed_communication =
      length_within(collectives.resident, backward_end, stream.optimizer_start);
  Duration exposed_transfers = length_within(collectives.transfers, backward_end, always);
  for (const Interval& stands : stream.exposed)
    exposed_transfers += length_within(collectives.transfers, stands.start, stands.end);
  // Steps of one bucket's parameters hide what is left of the others.
  Duration stepped;
  for (const Interval& step : stream.steps) {
    if (step.start < backward_end || step.end > stream.optimizer_start) continue;
    stepped += step.end - step.start;
    times.exposed_communication -= length_within(collectives.resident, step.start, step.end);
    exposed_transfers -= length_within(collectives.transfers, step.start, step.end);
  }
  if (times.communication > Duration()) times.overlap = 1 - exposed_transfers / times.communication;

  // Copies out that run while a later bucket is still on the wire cost nothing of their own.
  Duration copied;  // before the optimizer, or what is shared out behind it
  for (const Interval& copy : stream.copies_out) {
    const Duration own =
        (copy.end - copy.start) - length_within(collectives.resident, copy.start, copy.end);
    times.finalize += own;
    if (copy.start < stream.optimizer_start) copied += own;
  }

  const Duration between = stream.optimizer_start - backward_end;
  const Duration gaps = between - times.exposed_communication - copied - stepped;
  DDPSIM_ASSERT(TimePoint() + times.forward + times.backward + times.sync_batchnorm +
                        times.exposed_in_backward + times.optimizer_in_backward ==
                    backward_end,
                "forward and backward must fill the time up to the end of backward", times.forward,
                times.backward, times.sync_batchnorm, times.exposed_in_backward,
                times.optimizer_in_backward, backward_end);
  DDPSIM_ASSERT(gaps >= Duration(), "parts of the step after backward overlap", between,
                times.exposed_communication, times.finalize);
  DDPSIM_ASSERT(!times.overlap || (*times.overlap >= 0 && *times.overlap <= 1),
                "overlap outside 0 to 1", *times.overlap);
  times.exposed_communication += times.exposed_in_backward + times.exposed_in_optimizer;
  if (planned.host) times.host = planned.host->step;
  times.forward_ahead = std::min(forward_ahead(job, workload), times.forward);
  times.forward -= times.forward_ahead;
  // A recorded one stands at the start of the recorded forward.
  times.buffer_broadcast += std::max(planned.recorded_broadcast - times.forward_ahead, Duration());
  times.buffer_broadcast = std::min(times.buffer_broadcast, times.forward);
  times.stall = gaps;
  add_pause(job, workload, times);
  times.iteration = times.forward + times.backward + times.sync_batchnorm +
                    times.exposed_communication + times.finalize + times.optimizer +
                    times.model_averaging + times.stall;
  attribute_slowdown(stream.work, job, times);
  times.loss = attribute_loss(planned, execution, job, times);
  return times;
}

}  // namespace ddpsim
