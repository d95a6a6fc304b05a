#include "summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ddpsim/sim/assert.hpp"
#include "ddpsim/sim/step.hpp"

namespace ddpsim {
namespace {

struct Interval {
  TimePoint start;
  TimePoint end;
};

/// Sorted, disjoint, without empty members.
std::vector<Interval> union_of(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end <= i.start; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::vector<Interval> merged;
  for (const Interval& interval : intervals) {
    if (!merged.empty() && interval.start <= merged.back().end)
      merged.back().end = std::max(merged.back().end, interval.end);
    else
      merged.push_back(interval);
  }
  return merged;
}

/// Length of the disjoint intervals inside [from, to].
Duration length_within(const std::vector<Interval>& intervals, TimePoint from, TimePoint to) {
  Duration total;
  for (const Interval& interval : intervals) {
    const Duration part = std::min(interval.end, to) - std::max(interval.start, from);
    if (part > Duration()) total += part;
  }
  return total;
}

enum class Section { forward, backward, after };

Section section_of(Purpose purpose) {
  switch (purpose) {
    case Purpose::forward:
    case Purpose::buffer_copy:
    case Purpose::buffer_broadcast:
    case Purpose::rebuild:
      return Section::forward;
    case Purpose::backward:
    case Purpose::copy_in:
      return Section::backward;
    default:
      return Section::after;
  }
}

std::vector<std::uint32_t> reducer_collectives(const ReducerSchedule& planned) {
  std::vector<std::uint32_t> indices = planned.bucket_collectives;
  if (planned.local_used_map) indices.push_back(*planned.local_used_map);
  return indices;
}

/// End of the last operation of backward on rank 0's compute stream.
TimePoint end_of_backward(const Program& program, const std::vector<OperationTime>& times) {
  TimePoint end;
  for (std::size_t i = 0; i < program.size(); ++i)
    if (section_of(program[i].purpose) != Section::after) end = std::max(end, times[i].end);
  return end;
}

/// The bucket whose end this one's start had to wait for, or beside which it runs: with process
/// groups, and gloo's threads, several collectives are under way at once.
std::string because_of_others(const BucketResult& bucket, const std::vector<BucketResult>& before) {
  const TimePoint asked = std::max(bucket.ready, bucket.launch);
  const BucketResult* queued_behind = nullptr;
  const BucketResult* beside = nullptr;
  for (const BucketResult& other : before) {
    if (other.end <= asked || other.end == other.start) continue;
    const BucketResult*& found = other.end <= bucket.start ? queued_behind : beside;
    if (found == nullptr || other.end >= found->end) found = &other;
  }
  if (queued_behind == &before.back()) return "queued behind the bucket in front";
  if (queued_behind != nullptr)
    return fmt::format("queued behind bucket {}", queued_behind - before.data());
  if (beside != nullptr)
    return fmt::format("shares the link with bucket {}", beside - before.data());
  return "";
}

std::string why_exposed(const BucketResult& bucket, const std::vector<BucketResult>& before,
                        TimePoint backward_end, bool ready_last) {
  if (bucket.end <= backward_end || bucket.end == bucket.start) return "";
  if (!before.empty())
    if (std::string others = because_of_others(bucket, before); !others.empty()) return others;
  if (bucket.last_arrival > bucket.start && bucket.last_arrival > backward_end)
    return fmt::format("waited for rank {}", bucket.last_rank);
  if (ready_last) return "its last gradient ends backward: nothing is left to hide behind";
  if (bucket.launch > bucket.ready && bucket.launch >= backward_end)
    return "launched late: the host was behind";
  return "longer than the backward that was left";
}

}  // namespace

StepTimes book_times(const ReducerSchedule& planned, const Execution& execution, const Job& job) {
  const Workload& workload = job.workload();
  const DdpOptions& ddp = job.options().ddp;
  const Program& program = planned.schedule.ranks.front().compute;
  const std::vector<OperationTime>& operations = execution.ranks.front().compute;
  const TimePoint backward_end = end_of_backward(program, operations);

  StepTimes times;
  TimePoint cursor;
  std::vector<Interval> copies_out;
  TimePoint optimizer_start;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Purpose purpose = program[i].purpose;
    const Duration passed = operations[i].end - cursor;  // waiting in front of it included
    const Duration busy = operations[i].end - operations[i].start;
    switch (section_of(purpose)) {
      case Section::forward:
        times.forward += passed;
        if (purpose != Purpose::forward && purpose != Purpose::rebuild)
          times.buffer_broadcast += passed;
        break;
      case Section::backward:
        times.backward += passed;
        if (purpose == Purpose::copy_in && program[i].action == Action::work)
          times.copies_in += program[i].duration;
        if (program[i].action == Action::work) times.interference += busy - program[i].duration;
        break;
      case Section::after:
        if (purpose == Purpose::copy_out)
          copies_out.push_back({operations[i].start, operations[i].end});
        if (purpose == Purpose::optimizer) times.optimizer += busy;
        break;
    }
    cursor = operations[i].end;
    if (purpose != Purpose::optimizer) optimizer_start = cursor;
  }
  times.backward_compute = times.backward - times.copies_in - times.interference;
  if (workload.recorded_with.buffer_broadcast && ddp.broadcast_buffers)
    times.buffer_broadcast +=
        workload.recorded_with.buffer_broadcast->scaled(1 / compute_speed(job));

  std::vector<Interval> transfers;
  std::vector<Interval> waits;
  std::vector<Interval> resident;
  for (const std::uint32_t index : reducer_collectives(planned)) {
    const CollectiveTime& collective = execution.collectives[index];
    transfers.push_back({collective.last_arrival, collective.end});
    waits.push_back({collective.starts.front(), collective.last_arrival});
    resident.push_back({collective.starts.front(), collective.end});
  }
  transfers = union_of(std::move(transfers));
  waits = union_of(std::move(waits));
  resident = union_of(std::move(resident));
  const TimePoint always = TimePoint::max();
  times.communication = length_within(transfers, TimePoint(), always);
  times.wait = length_within(waits, TimePoint(), always);
  times.exposed_communication = length_within(resident, backward_end, optimizer_start);
  if (times.communication > Duration())
    times.overlap = 1 - length_within(transfers, backward_end, always) / times.communication;

  // Copies out that run while a later bucket is still on the wire cost nothing of their own.
  for (const Interval& copy : copies_out)
    times.finalize += (copy.end - copy.start) - length_within(resident, copy.start, copy.end);

  const Duration between = optimizer_start - backward_end;
  const Duration gaps = between - times.exposed_communication - times.finalize;
  DDPSIM_ASSERT(TimePoint() + times.forward + times.backward == backward_end,
                "forward and backward must fill the time up to the end of backward");
  DDPSIM_ASSERT(gaps >= Duration(), "parts of the step after backward overlap");
  DDPSIM_ASSERT(!times.overlap || (*times.overlap >= 0 && *times.overlap <= 1),
                "overlap outside 0 to 1");
  // What kept the GPU waiting between steps (data loading) does so for every micro-batch.
  times.stall = gaps + stall(workload).value_or(Duration()) * ddp.accumulate;
  times.iteration = times.forward + times.backward + times.exposed_communication + times.finalize +
                    times.optimizer + times.stall;
  return times;
}

std::vector<BucketResult> describe_buckets(const ReducerSchedule& planned,
                                           const Execution& execution,
                                           const std::vector<Bucket>& buckets) {
  const Program& program = planned.schedule.ranks.front().compute;
  const std::vector<OperationTime>& compute = execution.ranks.front().compute;
  const TimePoint backward_end = end_of_backward(program, compute);
  TimePoint last_ready;
  for (const std::size_t operation : planned.ready_operation)
    if (!compute.empty()) last_ready = std::max(last_ready, compute[operation].end);

  std::vector<BucketResult> results;
  results.reserve(buckets.size());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const std::uint32_t index = planned.bucket_collectives[b];
    const CollectiveTime& collective = execution.collectives[index];
    BucketResult result{
        .bucket = buckets[b],
        .ready = compute.empty() ? TimePoint() : compute[planned.ready_operation[b]].end,
        .launch = execution.ranks.front().host[planned.launch_operation[b]].end,
        .start = collective.starts.front(),
        .last_arrival = collective.last_arrival,
        .last_rank = planned.schedule.ranks[collective.last].rank,
        .end = collective.end,
        .choice = planned.choices[index],
        .exposed_because = {},
        .on_the_wire = planned.schedule.collectives[index].size};
    result.exposed_because = why_exposed(result, results, backward_end, result.ready == last_ready);
    results.push_back(std::move(result));
  }
  return results;
}

namespace {

/// Spans of one stream; neighbours of one purpose (gradient after gradient) are drawn as one span, so
/// that backward reads as backward. Copies between them are spans of their own.
void draw_stream(Track track, const Program& program, const std::vector<OperationTime>& times,
                 std::vector<Span>& spans) {
  std::optional<Purpose> open;
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Operation& operation = program[i];
    if (operation.action == Action::record || operation.action == Action::wait ||
        operation.action == Action::wait_until)
      continue;
    if (times[i].end <= times[i].start) continue;
    const bool labelled = operation.action == Action::collective ||
                          operation.purpose == Purpose::launch ||
                          operation.purpose == Purpose::copy_out;
    if (!labelled && open == operation.purpose && spans.back().end == times[i].start) {
      spans.back().end = times[i].end;
      continue;
    }
    Span span{.track = track,
              .name = std::string(name_of(operation.purpose)),
              .bucket = std::nullopt,
              .start = times[i].start,
              .end = times[i].end};
    if (operation.bucket >= 0) span.bucket = static_cast<std::size_t>(operation.bucket);
    spans.push_back(std::move(span));
    open = operation.purpose;
  }
}

}  // namespace

Timeline draw_timeline(const ReducerSchedule& planned, const Execution& execution) {
  Timeline timeline;
  timeline.clock = "simulated; zero is the start of forward on the compute stream of rank 0";
  for (std::size_t r = 0; r < planned.schedule.ranks.size(); ++r) {
    const RankPrograms& programs = planned.schedule.ranks[r];
    const Execution::Rank& times = execution.ranks[r];
    RankTimeline rank{.rank = programs.rank, .spans = {}};
    draw_stream(Track::host, programs.host, times.host, rank.spans);
    draw_stream(Track::compute, programs.compute, times.compute, rank.spans);
    draw_stream(Track::communication, programs.communication, times.communication, rank.spans);
    std::stable_sort(rank.spans.begin(), rank.spans.end(),
                     [](const Span& a, const Span& b) { return a.start < b.start; });
    timeline.ranks.push_back(std::move(rank));
  }
  return timeline;
}

}  // namespace ddpsim
