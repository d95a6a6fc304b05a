#include "iteration_statistics.hpp"

#include "ddpsim/sim/quantile.hpp"

namespace ddpsim {

std::optional<IterationStatistics> statistics_of(const std::vector<StepResult>& iterations,
                                                 int first) {
  std::vector<Duration> times;
  for (const StepResult& step : iterations)
    if (step.iteration >= first) times.push_back(step.times.iteration);
  if (times.empty()) return std::nullopt;
  IterationStatistics statistics{.first = first,
                                 .count = static_cast<std::int64_t>(times.size()),
                                 .p50 = quantile(times, 0.5)};
  Duration total;
  for (const Duration time : times) total += time;
  statistics.mean = Duration::picoseconds(total.picoseconds() / statistics.count);
  if (times.size() >= 20) statistics.p95 = quantile(times, 0.95);
  if (times.size() >= 100) statistics.p99 = quantile(times, 0.99);
  return statistics;
}

}  // namespace ddpsim
