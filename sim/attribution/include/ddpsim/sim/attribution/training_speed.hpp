// How much a job gets done in a second, and which part of its GPUs' peak rate it uses.
//
// - samples per second: samples of all ranks in a step / step
// - tokens per second: samples per second * tokens of a sample
// - model FLOPs utilization: time of the step's model FLOPs at the GPUs' data-sheet rate / step
// - scaling efficiency: step of a single GPU, without DDP but with the same kind of DataLoader /
//   step
#pragma once

#include <optional>

#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// What all ranks together process in one step.
struct StepWork {
  std::optional<double> samples;  ///< absent: no batch in the workload
  std::optional<double> tokens;   ///< absent: samples are not sequences
  /// Absent if the model or its precision is unknown.
  std::optional<double> seconds_at_peak;
};

struct TrainingSpeed {
  std::optional<double> samples_per_second;
  std::optional<double> tokens_per_second;
  std::optional<double> model_flops_utilization;  ///< 0 to 1
  std::optional<double> scaling_efficiency;       ///< absent if the step takes no time
};

inline double scaling_efficiency(const StepTimes& times) {
  return times.iteration > Duration() ? (times.alone() + times.input_alone) / times.iteration : 1;
}

inline TrainingSpeed training_speed(const StepWork& work, const StepTimes& times) {
  const double step = times.iteration.seconds();
  if (step <= 0) return {};
  const auto per_second = [&](std::optional<double> amount) {
    return amount ? std::optional(*amount / step) : std::nullopt;
  };
  return {.samples_per_second = per_second(work.samples),
          .tokens_per_second = per_second(work.tokens),
          .model_flops_utilization = per_second(work.seconds_at_peak),
          .scaling_efficiency = scaling_efficiency(times)};
}

}  // namespace ddpsim
