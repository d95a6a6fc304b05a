// Attributes every picosecond of rank 0's step to one part of it, and the time beyond one GPU's to
// a cause.
#include <algorithm>
#include <utility>

#include "between_steps.hpp"
#include "ddpsim/sim/step/compute_speed.hpp"
#include "ddpsim/sim/values/assert.hpp"
#include "intervals.hpp"
#include "stream_causes.hpp"
#include "stream_parts.hpp"
#include "summary.hpp"

namespace ddpsim {
namespace {

/// How long counted collectives transfer and wait, and how much of the transfers is hidden.
void note_communication(const Execution& execution, const std::vector<std::uint32_t>& counted,
                        const StreamParts& parts, StepTimes& times) {
  std::vector<Interval> transfers;
  std::vector<Interval> waits;
  for (const std::uint32_t index : counted) {
    const CollectiveTime& collective = execution.collectives[index];
    transfers.push_back({collective.last_arrival, collective.end});
    waits.push_back({collective.starts.front(), collective.last_arrival});
  }
  transfers = union_of(std::move(transfers));
  times.communication = length_within(transfers, TimePoint(), TimePoint::max());
  times.wait = length_within(union_of(std::move(waits)), TimePoint(), TimePoint::max());
  if (times.communication > Duration())
    times.overlap = 1 - parts.exposed_of(transfers) / times.communication;
  DDPSIM_ASSERT(!times.overlap || (*times.overlap >= 0 && *times.overlap <= 1),
                "overlap outside 0 to 1", *times.overlap);
}

/// Notes the pause before the next step, and removes what overlaps the neighbouring steps.
void note_neighbours(const PlannedStep& planned, const Job& job, StepTimes& times) {
  times.forward_ahead = std::min(forward_ahead(job, job.workload()), times.forward);
  times.forward -= times.forward_ahead;
  // A recorded broadcast is at the start of the recorded forward.
  times.buffer_broadcast += std::max(planned.recorded_broadcast - times.forward_ahead, Duration());
  times.buffer_broadcast = std::min(times.buffer_broadcast, times.forward);
  add_pause(job, job.workload(), times);
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

StepTimes attribute_step(const PlannedStep& planned, const Execution& execution, const Job& job) {
  const Program& program = planned.schedule.ranks.front().compute;
  const std::vector<OperationTime>& operations = execution.ranks.front().compute;
  const std::vector<CollectiveInterval> intervals = collective_intervals(planned, execution, job);
  const std::vector<std::uint32_t> counted = counted_collectives(planned);
  StreamParts parts(planned, execution, counted, intervals);
  StreamCauses causes(intervals);
  for (std::size_t i = 0; i < program.size(); ++i) {
    DDPSIM_ASSERT(i == 0 || operations[i].start == operations[i - 1].end,
                  "operations of a stream follow one another without a gap", i);
    // Another rank may begin before this one, so its waits may start before time zero.
    const OperationTime time{std::max(operations[i].start, TimePoint()), operations[i].end};
    parts.add(program[i], time);
    causes.add(program[i], time);
  }
  StepTimes times = parts.times();
  note_communication(execution, counted, parts, times);
  if (planned.host) times.host = planned.host->step;
  note_neighbours(planned, job, times);
  times.iteration = times.forward + times.backward + times.sync_batchnorm +
                    times.exposed_communication + times.finalize + times.optimizer +
                    times.model_averaging + times.stall;
  attribute_slowdown(parts.work(), job, times);
  times.loss = attribute_loss(planned, causes, job, times);
  return times;
}

}  // namespace ddpsim
