#include "iteration_statistics.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {

std::optional<IterationStatistics> statistics_of(const std::vector<StepResult>& iterations,
                                                 int first) {
  std::vector<Duration> times;
  for (const StepResult& step : iterations)
    if (step.iteration >= first) times.push_back(step.times.iteration);
  if (times.empty()) return std::nullopt;
  std::sort(times.begin(), times.end());
  const auto percentile = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(times.size()));
    return times[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
  };
  IterationStatistics statistics{
      .first = first, .count = static_cast<std::int64_t>(times.size()), .p50 = percentile(0.5)};
  Duration total;
  for (const Duration time : times) total += time;
  statistics.mean = Duration::picoseconds(total.picoseconds() / statistics.count);
  if (times.size() >= 20) statistics.p95 = percentile(0.95);
  if (times.size() >= 100) statistics.p99 = percentile(0.99);
  return statistics;
}

}  // namespace ddpsim
