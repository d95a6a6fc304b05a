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

Duration lower_bound(const Job& job, std::vector<Bucket> buckets) {
  SimulationOptions free = job.options();
  free.iterations = 0;
  free.buckets = std::move(buckets);
  free.costs.host_hook = free.costs.host_launch = free.costs.host_search_per_parameter = Duration();
  free.costs.launch_latency = free.costs.event_latency = Duration();
  free.ddp.comm_hook = CommHook::none;
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

Gains::Bound Gains::bound(const Job& job) const {
  return {job, simulate_times(with_buckets(job, before_)).iteration};
}

WeighedGain Gains::of(const std::vector<Bucket>& after) const {
  const auto gain = [&](const Bound& bound) {
    return bound.before - simulate_times(with_buckets(bound.job, after)).iteration;
  };
  std::vector<WeighedGain> gains;
  for (const Reading& reading : readings_) {
    const Duration value = gain(reading.expected);
    std::vector<GainBounds> bounds;
    for (const Bounds& of : reading.bounds)
      bounds.push_back({of.source, gain(of.one), gain(of.other)});
    gains.push_back(weighed(value, bounds));
  }
  return whichever(gains);
}

}  // namespace ddpsim
