#include "ddpsim/sim/certainty/step_spread.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kPercentilesFrom = 10;

/// The 0.9 quantile of Student's distribution. Beyond the table, the expansion around the normal
/// quantile, to 0.4 % (Abramowitz and Stegun, 26.7.5).
double student(std::size_t degrees) {
  constexpr std::array kTable{3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397};
  if (degrees <= kTable.size()) return kTable.at(degrees - 1);
  constexpr double kNormal = 1.2816;
  return kNormal + (kNormal * kNormal * kNormal + kNormal) / (4 * static_cast<double>(degrees));
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};
Moments moments(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Moments result;
  for (const double value : values) result.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (count - 1));
  return result;
}

/// Linear interpolation between ranks, counted from 1.
double at_rank(const std::vector<double>& ascending, double rank) {
  const auto below = static_cast<std::size_t>(rank);
  const double first = ascending[below - 1];
  return below == ascending.size() ? first
                                   : first + (ascending[below] - first) * (rank - std::floor(rank));
}

/// By Tukey and McLaughlin: each value in the outer quarters counts as the nearest value that is
/// kept.
double error_of_middle_mean(const std::vector<double>& ascending) {
  const std::size_t outer = ascending.size() < kMiddleHalfFrom ? 0 : ascending.size() / 4;
  const std::size_t kept = ascending.size() - 2 * outer;
  std::vector<double> clamped = ascending;
  for (double& value : clamped)
    value = std::clamp(value, ascending[outer], ascending[outer + kept - 1]);
  const auto count = static_cast<double>(kept);
  return student(kept - 1) * moments(clamped).deviation *
         std::sqrt(static_cast<double>(ascending.size() - 1) / (count * (count - 1)));
}

struct Ends {
  double low;
  double high;
};
Ends next_step(const std::vector<double>& ascending) {
  const auto count = static_cast<double>(ascending.size());
  // With fewer than nine steps, the outer ranks would lie beyond the shortest and the longest step.
  if (ascending.size() + 1 >= kPercentilesFrom)
    return {at_rank(ascending, (count + 1) / 10), at_rank(ascending, 9 * (count + 1) / 10)};
  std::vector<double> logarithms;
  for (const double value : ascending) logarithms.push_back(elementary::log(value));
  const auto [mean, deviation] = moments(logarithms);
  // ln(100): steps that differ by more than a factor of 100 do not belong to one job.
  constexpr double kMost = 4.6;
  const double beyond =
      std::min(kMost, student(ascending.size() - 1) * deviation * std::sqrt(1 + 1 / count));
  return {elementary::exp(mean - beyond), elementary::exp(mean + beyond)};
}

}  // namespace

std::optional<StepSpread> step_spread(const Recorded& recorded) {
  std::vector<Duration> steps;
  for (const StepSample& step : recorded.steps)
    if (step.iteration) steps.push_back(*step.iteration);
  return step_spread(steps);
}

std::optional<StepSpread> step_spread(const std::vector<Duration>& steps) {
  if (steps.size() < 2) return std::nullopt;
  std::vector<double> us;
  for (const Duration step : steps) us.push_back(step.microseconds());
  std::sort(us.begin(), us.end());
  const bool percentiles = us.size() >= kPercentilesFrom;
  const Ends next = next_step(us);
  const auto time = [](double value) { return Duration::microseconds(value); };
  return StepSpread{.steps = us.size(),
                    .median = time(median(us)),
                    .low = time(percentiles ? quantile(us, 0.1) : us.front()),
                    .high = time(percentiles ? quantile(us, 0.9) : us.back()),
                    .percentiles = percentiles,
                    .next_low = time(next.low),
                    .next_high = time(next.high),
                    .mean_error = time(error_of_middle_mean(us))};
}

}  // namespace ddpsim
