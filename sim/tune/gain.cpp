#include "gain.hpp"

#include <utility>

#include "uncertainty.hpp"

namespace ddpsim {

Job with_buckets(const Job& job, std::vector<Bucket> buckets) {
  SimulationOptions options = job.options();
  options.iterations = 0;
  options.buckets = std::move(buckets);
  return job.with(std::move(options));
}

Job with_buckets(const Job& job, std::vector<Bucket> buckets, const BucketCaps& caps) {
  if (compiled_pieces(job.options().scheme) == nullptr)
    return with_buckets(job, std::move(buckets));
  SimulationOptions options = job.options();
  options.ddp.bucket_cap_mb = caps.bucket_cap_mb;
  options.ddp.first_bucket_mb = caps.first_bucket_mb;
  return with_buckets(job.with(std::move(options)), std::move(buckets));
}

Duration lower_bound(const Job& job, std::vector<Bucket> buckets) {
  SimulationOptions free = job.options();
  free.iterations = 0;
  free.buckets = std::move(buckets);
  free.costs.host_hook = free.costs.host_launch = free.costs.host_search_per_parameter = Duration();
  free.costs.launch_latency = free.costs.event_latency = Duration();
  free.ddp.comm_hook = CommHook::none;
  free.costs.host_step = free.costs.host_step_kernel = Duration();
  return simulate_times(job.with(std::move(free)).with(FreeModel{})).iteration;
}

Job as_measured(const Job& job, const std::optional<MeasuredCause>& measured) {
  if (!measured) return job;
  return explained(job, explain(job, measured->measured, measured->cause));
}

Readings readings_of(const std::optional<Duration>& measured) {
  if (!measured) return {std::nullopt};
  return {MeasuredCause{*measured, Cause::compute}, MeasuredCause{*measured, Cause::communication}};
}

Gains::Gains(const Job& job, std::vector<Bucket> before, const Readings& readings)
    : before_(std::move(before)) {
  for (const std::optional<MeasuredCause>& measured : readings)
    readings_.push_back(reading(job, measured));
}

Gains::Reading Gains::reading(const Job& job, const std::optional<MeasuredCause>& measured) const {
  Reading reading{.expected = bound(as_measured(job, measured)), .bounds = {}};
  // What of the GPUs' speed is not known is in the measured step, and so in what explains it.
  SimulationOptions certain = job.options();
  if (measured) {
    certain.compute_scale_range.reset();
    certain.rank_slowdown_range.reset();
  }
  for (const Scenario& scenario : scenarios(job.with(std::move(certain))))
    reading.bounds.push_back({scenario.source, bound(as_measured(scenario.at_one, measured)),
                              bound(as_measured(scenario.at_other, measured))});
  return reading;
}

std::size_t Gains::steps() const {
  std::size_t steps = 0;
  for (const Reading& reading : readings_) steps += 1 + 2 * reading.bounds.size();
  return steps;
}

Gains::Bound Gains::bound(const Job& job) const {
  return {job, simulate_times(with_buckets(job, before_)).iteration};
}

Duration Gains::gain(const Bound& bound, const Change& change) {
  const Job after = change(bound.job);
  const double batches = static_cast<double>(bound.job.options().ddp.accumulate) /
                         static_cast<double>(after.options().ddp.accumulate);
  const Duration step = simulate_times(after).iteration;
  return bound.before - (batches == 1 ? step : step.scaled(batches));
}

WeighedGain Gains::with_shared_errors(const Reading& reading, const Change& change) {
  std::vector<GainBounds> bounds;
  for (const Bounds& of : reading.bounds)
    bounds.push_back({of.source, gain(of.one, change), gain(of.other, change)});
  return weighed(gain(reading.expected, change), bounds);
}

WeighedGain Gains::with_own_errors(const Reading& reading, const Change& change) {
  const Duration value = gain(reading.expected, change);
  std::vector<GainBounds> bounds;
  for (const Bounds& of : reading.bounds) {
    const Duration at_one = gain(of.one, change);
    const Duration at_other = gain(of.other, change);
    const bool collectives = of.source == ErrorSource::fixed_cost ||
                             of.source == ErrorSource::bandwidth ||
                             of.source == ErrorSource::collective_times;
    if (!collectives) {
      bounds.push_back({of.source, at_one, at_other});
      continue;
    }
    // Today's err and the others do not, and the other way round.
    const Duration today_one = of.one.before - reading.expected.before;
    const Duration today_other = of.other.before - reading.expected.before;
    bounds.push_back({of.source, value + today_one, value + today_other});
    bounds.push_back({of.source, at_one - today_one, at_other - today_other});
  }
  return weighed(value, bounds);
}

WeighedGain Gains::of(const Change& change) const {
  std::vector<WeighedGain> gains;
  for (const Reading& reading : readings_) gains.push_back(with_shared_errors(reading, change));
  return whichever(gains);
}

WeighedGain Gains::of(const std::vector<Bucket>& after) const {
  return of([&](const Job& job) { return with_buckets(job, after); });
}

WeighedGain Gains::of_other_collectives(const Change& change) const {
  std::vector<WeighedGain> gains;
  for (const Reading& reading : readings_) gains.push_back(with_own_errors(reading, change));
  return whichever(gains);
}

}  // namespace ddpsim
