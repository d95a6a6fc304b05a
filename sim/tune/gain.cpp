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
