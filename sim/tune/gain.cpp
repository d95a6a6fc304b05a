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

Gains::Gains(const Job& job, std::vector<Bucket> before,
             const std::optional<MeasuredCause>& measured)
    : before_(std::move(before)), expected_(as_measured(job, measured)) {
  step_before_ = bound(expected_).before;
  // What of the GPUs' speed is not known is in the measured step, and so in what explains it.
  SimulationOptions certain = job.options();
  if (measured) {
    certain.compute_scale_range.reset();
    certain.rank_slowdown_range.reset();
  }
  for (const Scenario& scenario : scenarios(job.with(std::move(certain))))
    bounds_.push_back({scenario.source, bound(as_measured(scenario.at_one, measured)),
                       bound(as_measured(scenario.at_other, measured))});
}

Gains::Bound Gains::bound(const Job& job) const {
  return {job, simulate_times(with_buckets(job, before_)).iteration};
}

Gain Gains::of(const std::vector<Bucket>& after) const {
  const auto gain = [&](const Job& job, Duration before) {
    return before - simulate_times(with_buckets(job, after)).iteration;
  };
  const Duration value = gain(expected_, step_before_);
  std::vector<Sensitivity> sensitivities;
  for (const Bounds& bounds : bounds_)
    sensitivities.push_back(sensitivity(bounds.source,
                                        gain(bounds.one.job, bounds.one.before) - value,
                                        gain(bounds.other.job, bounds.other.before) - value));
  const Spread spread = combine(sensitivities);
  return {.value = value, .low = value + spread.low, .high = value + spread.high};
}

Duration least_gain(Duration iteration, const TuneOptions& tuning) {
  return iteration.scaled(tuning.measurable_share);
}

}  // namespace ddpsim
