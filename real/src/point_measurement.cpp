#include "point_measurement.hpp"

#include <algorithm>
#include <utility>

#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

using Steps = std::vector<StepRecord>;
using Interval = std::pair<TimePoint, TimePoint>;

Duration iteration(const StepRecord& step) {
  return step.end - step.begin();
}

/// Time covered by intervals that are sorted by begin.
Duration covered(const std::vector<Interval>& intervals) {
  Duration sum;
  TimePoint reached;
  bool first = true;
  for (const auto& [begin, end] : intervals) {
    const TimePoint from = first ? begin : std::max(begin, reached);
    if (end > from) sum += end - from;
    reached = first ? end : std::max(reached, end);
    first = false;
  }
  return sum;
}

/// Time when the last rank had started the all-reduce of its map.
TimePoint last_arrival_of_map(const std::vector<Steps>& ranks, std::size_t step) {
  TimePoint latest = ranks[0][step].map_start;
  for (const Steps& steps : ranks)
    if (step < steps.size()) latest = std::max(latest, steps[step].map_start);
  return std::min(latest, ranks[0][step].map_end);
}

/// Time when the last rank had started bucket `bucket` of step `step`.
TimePoint last_arrival(const std::vector<Steps>& ranks, std::size_t step, std::size_t bucket) {
  TimePoint latest = ranks[0][step].buckets[bucket].start;
  for (const Steps& steps : ranks) {
    if (step < steps.size() && bucket < steps[step].buckets.size())
      latest = std::max(latest, steps[step].buckets[bucket].start);
  }
  return std::min(latest, ranks[0][step].buckets[bucket].end);
}

struct Parts {
  Duration communication;
  Duration exposed;
  Duration finalize;
};

Parts parts_of(const std::vector<Steps>& ranks, std::size_t index) {
  const StepRecord& step = ranks[0][index];
  std::vector<Interval> transfers;
  std::vector<Interval> after;
  std::vector<Interval> running;
  std::vector<Interval> running_or_copied;
  Parts parts;
  for (std::size_t b = 0; b < step.buckets.size(); ++b) {
    const BucketRecord& bucket = step.buckets[b];
    transfers.emplace_back(last_arrival(ranks, index, b), bucket.end);
    after.emplace_back(std::max(bucket.start, step.backward_end), bucket.end);
    running.emplace_back(bucket.start, bucket.end);
    running_or_copied.emplace_back(bucket.start, bucket.end);
    for (const auto& copies : step.copies_out(bucket)) running_or_copied.push_back(copies);
    if (bucket.done == bucket.end) continue;
    const TimePoint cast = std::max(bucket.end, step.backward_end);
    // Lasts until the compute stream continues, unless the host's wait for the map comes in
    // between.
    const bool awaited = step.has_map > step.awaits_map && bucket.copy_out_begin >= step.has_map;
    running_or_copied.emplace_back(cast,
                                   std::max(cast, awaited ? bucket.done : bucket.copy_out_begin));
  }
  if (step.map_end > step.map_start) {
    transfers.emplace_back(last_arrival_of_map(ranks, index), step.map_end);
    after.emplace_back(std::max(step.map_start, step.backward_end), step.map_end);
    running.emplace_back(step.map_start, step.map_end);
    running_or_copied.emplace_back(step.map_start, step.map_end);
  }
  std::sort(transfers.begin(), transfers.end());
  std::sort(after.begin(), after.end());
  std::sort(running.begin(), running.end());
  std::sort(running_or_copied.begin(), running_or_copied.end());
  parts.communication = covered(transfers);
  parts.exposed = covered(after);
  // Copies and casts of a hook that run during an all-reduce cost no extra time.
  parts.finalize = covered(running_or_copied) - covered(running);
  return parts;
}

template <typename Value>
Quantiles over_steps(std::size_t steps, Value value) {
  std::vector<double> values;
  for (std::size_t i = 0; i < steps; ++i) values.push_back(value(i).microseconds());
  return quantiles_of(values);
}

MeasuredBucket measured_bucket(const std::vector<Steps>& ranks, std::size_t b) {
  const Steps& steps = ranks[0];
  const std::size_t count = steps.size();
  const auto since_forward = [&](auto instant) {
    return over_steps(count, [&](std::size_t i) { return instant(i) - steps[i].begin(); });
  };
  MeasuredBucket bucket{.bytes = steps[0].buckets[b].bytes,
                        .parameters = steps[0].buckets[b].parameters};
  bucket.ready_us = since_forward([&](std::size_t i) { return steps[i].buckets[b].ready; });
  bucket.launch_us = since_forward([&](std::size_t i) { return steps[i].buckets[b].launch_end; });
  bucket.start_us = since_forward([&](std::size_t i) { return steps[i].buckets[b].start; });
  bucket.last_arrival_us = since_forward([&](std::size_t i) { return last_arrival(ranks, i, b); });
  bucket.end_us = since_forward([&](std::size_t i) { return steps[i].buckets[b].end; });
  return bucket;
}

}  // namespace

void measure(const std::vector<Steps>& ranks, MeasuredConfiguration& result) {
  const Steps& steps = ranks[0];
  const std::size_t count = steps.size();
  if (count == 0) return;
  result.iterations_us.clear();
  for (const StepRecord& step : steps)
    result.iterations_us.push_back(iteration(step).microseconds());
  result.iteration_us = quantiles_of(result.iterations_us);
  result.forward_us = over_steps(count, [&](std::size_t i) { return steps[i].forward(); });
  result.backward_us = over_steps(count, [&](std::size_t i) { return steps[i].backward(); });
  result.communication_us =
      over_steps(count, [&](std::size_t i) { return parts_of(ranks, i).communication; });
  result.exposed_communication_us =
      over_steps(count, [&](std::size_t i) { return parts_of(ranks, i).exposed; });
  result.finalize_us =
      over_steps(count, [&](std::size_t i) { return parts_of(ranks, i).finalize; });
  result.optimizer_us = over_steps(
      count, [&](std::size_t i) { return steps[i].optimizer_end - steps[i].optimizer_begin; });
  result.buckets.clear();
  for (std::size_t b = 0; b < steps[0].buckets.size(); ++b)
    result.buckets.push_back(measured_bucket(ranks, b));
}

Timeline median_timeline(const std::vector<Steps>& ranks) {
  Timeline timeline;
  timeline.clock = "measured; zero is the start of forward on the compute stream of rank 0";
  const Steps& steps = ranks[0];
  std::vector<std::pair<Duration, std::size_t>> order;
  for (std::size_t i = 0; i < steps.size(); ++i) order.emplace_back(iteration(steps[i]), i);
  if (order.empty()) return timeline;
  const std::size_t chosen = quantile(std::move(order), 0.5).second;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    timeline.ranks.push_back(
        {.rank = static_cast<int>(r), .spans = spans_of(ranks[r][chosen], steps[chosen].begin())});
  return timeline;
}

}  // namespace ddpsim
