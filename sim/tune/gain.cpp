#include "gain.hpp"

#include <algorithm>
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

Gain gain_with_interval(const Job& job, const std::vector<Bucket>& before,
                        const std::vector<Bucket>& after, Duration value,
                        const std::optional<Replay>& replay) {
  const auto more = [&](const Job& other) {
    return simulate_times(with_buckets(other, before)).iteration -
           simulate_times(with_buckets(other, after)).iteration - value;
  };
  std::vector<Sensitivity> sensitivities;
  for (const Scenario& scenario : scenarios(job))
    sensitivities.push_back(
        sensitivity(scenario.source, more(scenario.at_one), more(scenario.at_other)));
  if (replay) {
    const Duration part = value.scaled(replay->residual() / replay->predicted);
    sensitivities.push_back(sensitivity(ErrorSource::replay_residual, part, -part));
  }
  const Spread spread = combine(sensitivities);
  return {.value = value, .low = value + spread.low, .high = value + spread.high};
}

Duration least_gain(Duration iteration, const TuneOptions& tuning) {
  const Duration measurable = iteration.scaled(tuning.measurable_share);
  return tuning.replay ? std::max(measurable, tuning.replay->missed()) : measurable;
}

}  // namespace ddpsim
