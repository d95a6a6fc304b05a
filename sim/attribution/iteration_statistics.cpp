#include "iteration_statistics.hpp"

#include <array>

#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

constexpr std::array kParts = {
    &StepTimes::iteration,
    &StepTimes::forward,
    &StepTimes::buffer_broadcast,
    &StepTimes::backward,
    &StepTimes::backward_compute,
    &StepTimes::copies_in,
    &StepTimes::interference,
    &StepTimes::communication,
    &StepTimes::wait,
    &StepTimes::exposed_communication,
    &StepTimes::exposed_in_backward,
    &StepTimes::exposed_in_forward,
    &StepTimes::exposed_in_optimizer,
    &StepTimes::optimizer_in_backward,
    &StepTimes::finalize,
    &StepTimes::optimizer,
    &StepTimes::sync_batchnorm,
    &StepTimes::model_averaging,
    &StepTimes::stall,
    &StepTimes::input,
    &StepTimes::input_alone,
    &StepTimes::pause,
    &StepTimes::slowest_gpu,
    &StepTimes::unexplained,
    &StepTimes::slowed_backward,
    &StepTimes::launch_bound,
    &StepTimes::forward_ahead,
};
static_assert(sizeof(StepTimes) == sizeof(Duration) * kParts.size() + sizeof(StepTimes::overlap) +
                                       sizeof(StepTimes::host) + sizeof(Loss),
              "kParts names every duration of a step");

StepTimes mean_of(const std::vector<StepTimes>& steps) {
  const auto mean = [&](auto part) {
    Duration total;
    for (const StepTimes& step : steps) total += part(step);
    return Duration::picoseconds(total.picoseconds() / static_cast<std::int64_t>(steps.size()));
  };
  StepTimes all;
  for (const auto part : kParts)
    all.*part = mean([&](const StepTimes& step) { return step.*part; });
  for (const LossCause cause : all_loss_causes())
    all.loss[cause] = mean([&](const StepTimes& step) { return step.loss[cause]; });
  if (steps.front().host)  // same for all steps
    all.host = mean([](const StepTimes& step) { return step.host.value(); });
  double overlaps = 0;
  int communicating = 0;
  for (const StepTimes& step : steps) {
    overlaps += step.overlap.value_or(0);
    communicating += step.overlap ? 1 : 0;
  }
  if (communicating > 0) all.overlap = overlaps / communicating;
  return all;
}

}  // namespace

std::optional<IterationStatistics> statistics_of(const std::vector<StepResult>& iterations,
                                                 int first) {
  std::vector<StepTimes> steps;
  for (const StepResult& step : iterations)
    if (step.iteration >= first) steps.push_back(step.times);
  if (steps.empty()) return std::nullopt;
  std::vector<Duration> times;
  for (const StepTimes& step : steps) times.push_back(step.iteration);
  IterationStatistics statistics{.first = first,
                                 .count = static_cast<std::int64_t>(times.size()),
                                 .mean = mean_of(steps),
                                 .p50 = quantile(times, 0.5)};
  if (times.size() >= 20) statistics.p95 = quantile(times, 0.95);
  if (times.size() >= 100) statistics.p99 = quantile(times, 0.99);
  return statistics;
}

}  // namespace ddpsim
